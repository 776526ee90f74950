import { createHash, createPublicKey } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { madeUpKeys, sign } from '../../../cli/samples/sign.ts';
import type { NewEvent } from '../../../src/db/claim.ts';
import type { Provider } from '../../../src/providers/index.ts';
import {
  CHECK_SECRET,
  factOf,
  type HandshakeExample,
  type OtherExample,
  type Pair,
  RETRY,
  type Vector,
} from '../../../src/providers/proof.ts';
import type { CertificateScheme, Reply } from '../../../src/providers/types.ts';
import { hasUnsignedIds } from '../../../src/receiver/identify.ts';
import { secretName, verifyTokenName } from '../../../src/receiver/secrets.ts';
import { filled, settingsOf } from '../../../src/verify/settings.ts';
import { proofOf, vectorsOf } from '../../../workshop/proofs.ts';
import {
  coversBody,
  deliver,
  NOW,
  providerOf,
  type Sent,
  URL_TOLD,
  verdictOn,
  withBody,
} from '../../verify/deliveries.ts';
import { startReceiver } from '../in-node.ts';

/**
 * Something that the proof of a provider demands of its data. Deliveries are signed by the real data, and received by the
 * data that is given: a change of the data must make a check fail.
 */
export interface Check {
  readonly what: string;
  /** Throws if the data is wrong. */
  readonly run: (data: Provider) => Promise<void>;
}

export function checksOf(name: string): Check[] {
  const { pairs, handshakes = [], ack, accepts = {} } = proofOf(name);
  const all: [what: string, pair: Pair, outcome: string][] = [
    [RETRY, {}, 'duplicate'],
    ...Object.entries(pairs.apart).map(([what, pair]): [string, Pair, string] => [what, pair, 'accepted']),
    ...Object.entries(pairs.same ?? {}).map(([what, pair]): [string, Pair, string] => [what, pair, 'duplicate']),
  ];
  // A pair of the same name takes the place of the retry.
  const byName = new Map(all.map((one) => [one[0], one]));
  return [
    ...vectorsOf(name).map((vector) => ({
      what: `verifies the vector ${vector.id}`,
      run: (data: Provider) => checkVector(data, vector, accepts.seconds ?? 300),
    })),
    ...Array.from(byName.values(), ([what, pair, outcome]) => ({
      what: `${outcome === 'accepted' ? 'claims both' : 'runs once'}: ${what}`,
      run: (data: Provider) => checkPair(name, data, pair, pair.outcome ?? outcome),
    })),
    ...handshakes.map((example, n) => ({
      what: `answers its handshake ${n + 1}, and nothing like it`,
      run: (data: Provider) => checkHandshake(name, data, example),
    })),
    ...tokenChecksOf(name),
    { what: 'answers an event', run: (data) => checkAnswer(name, data, ack) },
    { what: 'accepts a body up to its limit', run: (data) => checkSize(name, data, accepts.bytes ?? 1024 * 1024) },
  ];
}

/** At its own time, and as far away from it as `seconds`. A vector without a time has a scheme that signs none. */
async function checkVector(data: Provider, vector: Vector, seconds: number): Promise<void> {
  const { method = 'POST', url = 'https://example.com/', secret = vector.publicKey ?? '', nowSeconds } = vector;
  const outcomeOf = async (body: string, off = 0) => {
    const delivery = { method, url, headers: new Headers(vector.headers), body: new TextEncoder().encode(body) };
    return (await verdictOn(data, delivery, [secret], new Date(((nowSeconds ?? 0) + off) * 1000))).outcome;
  };
  same(await outcomeOf(vector.body), 'verified');
  if (vector.origin !== 'token' && coversBody(data.name)) same(await outcomeOf(`${vector.body} `), 'refused');
  if (nowSeconds === undefined) return;
  const outcomes = [-seconds - 1, -seconds, seconds, seconds + 1].map((off) => outcomeOf(vector.body, off));
  same(await Promise.all(outcomes), ['refused', 'verified', 'verified', 'refused']);
}

interface Received {
  readonly answer: Response;
  readonly text: string;
  readonly outcome: unknown;
  readonly sealed: unknown;
  readonly events: readonly NewEvent[];
}

/** Its source has the name of the provider, and the delivery is as it was signed. */
async function receive(data: Provider, sent: Sent, init: RequestInit = {}, awaits = false): Promise<Received> {
  const { name } = data;
  const source = {
    provider: data,
    types: [],
    url: sent.url.split('?')[0] ?? '',
    ...(awaits ? ({ awaitsSecret: true, awaitsConfirmation: true } as const) : {}),
  };
  const env = { [secretName(name)]: sent.keys.secret, [verifyTokenName(name)]: VERIFY_TOKEN };
  const receiver = startReceiver({ sources: { [name]: source }, env, now: () => NOW });
  const request = { headers: sent.headers, body: sent.text, ...init };
  const answer = await receiver.send(name + new URL(sent.url).search, request);
  const [line] = receiver.lines.filter(({ step }) => step === 'delivery');
  const events = await receiver.events();
  return { answer, text: await answer.text(), outcome: line?.outcome, sealed: line?.sealed, events };
}

const VERIFY_TOKEN = 'the-verify-token';

/** A minute passes between the two, so what signs a time is signed differently. */
const THEN = new Date(NOW.getTime() - 60_000);

async function checkPair(name: string, data: Provider, pair: Pair, outcome: string): Promise<void> {
  const { pairs } = proofOf(name);
  const { body, events, stored, both = {} }: OtherExample = pair.body === undefined ? pairs : pair;
  const keys = keysOf(name);
  const signed = (now: Date, id: string, type = both.type ?? pairs.type, values = {}): Sent => {
    const text = textOf(name, typeof body === 'function' ? body(now) : body, values);
    const query = both.query
      ? `?${both.query.replace('{sha256}', createHash('sha256').update(text).digest('hex'))}`
      : '';
    const entries = Object.entries(both.headers ?? {}).map(([key, value]) => [
      key,
      value?.replace('{secret}', keys.secret),
    ]);
    const headers = Object.fromEntries(entries.filter(([, value]) => value !== undefined));
    // A header that is left out may be signed nevertheless.
    const leftOut = Object.fromEntries(entries.filter(([, value]) => value === undefined).map(([key]) => [key, null]));
    const wanted = { id, ...(type === undefined ? {} : { type }), now, keys, body: text, url: URL_TOLD + query };
    return changed(deliver(name, { ...wanted, headers }), leftOut);
  };
  const first = signed(THEN, 'msg_one');
  const again = pair.captured
    ? withBody(first, textOf(name, parsed(name, first.text), pair.values ?? {}))
    : signed(NOW, pair.id ?? 'msg_one', pair.type, pair.values);
  const one = await receive(data, first);
  const other = await receive(data, changed(again, pair.headers ?? {}));
  same(one.events.map(claimedAs), events);
  if (stored)
    same(
      one.events.map((event) => JSON.parse(event.body)),
      stored,
    );
  same(outcomesOf([one.events, other.events], hasUnsignedIds({ provider: data, types: [] })), ['accepted', outcome]);
}

/** `null` leaves a header out. */
function changed(sent: Sent, headers: Readonly<Record<string, string | null>>): Sent {
  const copy = new Headers(sent.headers);
  for (const [key, value] of Object.entries(headers)) {
    if (value === null) copy.delete(key);
    else copy.set(key, value);
  }
  return { ...sent, headers: copy };
}

function isForm(name: string, body: object): boolean {
  return providerOf(name).form === true && !Array.isArray(body);
}

function textOf(name: string, body: object | string, values: object): string {
  if (typeof body === 'string') return body;
  const json: object = structuredClone(body);
  for (const [path, value] of Object.entries(values)) put(json, path.split('.'), value);
  if (!isForm(name, json)) return JSON.stringify(json);
  return new URLSearchParams(Object.entries(json).filter(([, value]) => value !== undefined)).toString();
}

function parsed(name: string, text: string): object {
  return providerOf(name).form ? Object.fromEntries(new URLSearchParams(text)) : JSON.parse(text);
}

function put(json: object, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) Reflect.set(json, key, value);
  else put(Reflect.get(json, key), rest, value);
}

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;

function claimedAs({ eventId, type, occurredAt, body }: NewEvent): unknown[] {
  const withoutHash = eventId.replace(/[0-9a-f]{64}/, 'content');
  const id = withoutHash.replace(UUID, (uuid) => (body.includes(uuid) ? uuid : 'random'));
  return [id, type, occurredAt?.toISOString() ?? null];
}

/** What becomes of the events of deliveries, one after the other, by the rule of the claim (engine/test/db/claim.test.ts). */
export function outcomesOf(deliveries: readonly (readonly NewEvent[])[], idsUnsigned: boolean): string[] {
  const known: NewEvent[] = [];
  return deliveries.map((events) => {
    const outcomes = events.map((event) => {
      const { eventId, fingerprint } = event;
      // Where ids are unsigned, another body under a known id is not the same event.
      const isOther = (one: NewEvent) => idsUnsigned && fingerprint !== null && one.fingerprint !== fingerprint;
      if (known.some((one) => one.eventId === eventId && !isOther(one))) return 'duplicate';
      const isReplay =
        fingerprint !== null && known.some((one) => one.fingerprint === fingerprint || one.eventId === eventId);
      known.push(event);
      return isReplay ? 'parked' : 'accepted';
    });
    return outcomes.includes('parked') ? 'parked' : outcomes.includes('accepted') ? 'accepted' : 'duplicate';
  });
}

/** What is demanded of a token, and where its key is from. */
function tokenChecksOf(name: string): Check[] {
  const provider = providerOf(name);
  const { scheme } = provider;
  if (scheme.check === undefined) return [];
  if (scheme.kind === 'certificate') return certificateChecksOf(name, scheme);
  const demanded = (scheme.claims ?? []).flatMap((claim, n) =>
    [claim.at].flat().map((at) => ({
      what: `refuses a token without the right ${at}`,
      run: async (data: Provider) => {
        const keys = keysOf(name);
        const changed = claim.is === undefined ? [] : [{ ...claim, is: `${claim.is} or another` }];
        const claims = scheme.claims?.toSpliced(n, 1, ...changed) ?? [];
        const event: Record<string, unknown> = scheme.isEvent ? JSON.parse(payloadOf(name)) : {};
        if (scheme.isEvent) putInstead(event, [claim.at].flat()[0] ?? at, at, claim.is && 'another');
        const toSign = { id: 'one', type: 'sample', now: NOW, body: JSON.stringify(event), url: URL_TOLD };
        const signed = sign({ ...provider, scheme: { ...scheme, claims } }, keys.signingKey, toSign);
        const delivery = { method: 'POST', url: URL_TOLD, headers: new Headers(signed.headers) };
        const sent = { ...delivery, body: new TextEncoder().encode(signed.body) };
        same((await verdictOn(data, sent, [keys.secret], NOW)).outcome, 'refused');
      },
    })),
  );
  if ('secret' in scheme.keys || 'x5c' in scheme.keys) return demanded;
  return [...demanded, { what: 'fetches its key from where the sources say', run: (data) => checkFetch(name, data) }];
}

/** A wrong value at a place of the payload. What is beside the first place moves to it: one event has only one of them. */
function putInstead(event: Record<string, unknown>, first: string, at: string, value: string | undefined): void {
  const [from = ''] = first.slice('jws:'.length).split('.');
  const path = at.slice('jws:'.length).split('.');
  const [to = ''] = path;
  if (to !== from) {
    event[to] = event[from];
    delete event[from];
  }
  put(event, path, value);
}

/** Each of a delivery's values is changed before it is signed, so that only what is demanded of it can refuse it. */
function certificateChecksOf(name: string, scheme: CertificateScheme): Check[] {
  const answersWith = (outcome: string, what: string, changed: Partial<CertificateScheme>, body?: object): Check => ({
    what,
    run: async (data) => {
      const keys = keysOf(name);
      const provider = { ...providerOf(name), scheme: { ...scheme, ...changed } };
      const text = JSON.stringify({ ...JSON.parse(deliver(name, { keys }).text), ...body });
      const signed = sign(provider, keys.signingKey, {
        id: 'one',
        type: 'sample',
        now: NOW,
        body: text,
        url: URL_TOLD,
      });
      const delivery = { method: 'POST', url: URL_TOLD, headers: new Headers(signed.headers) };
      const sent = { ...delivery, body: new TextEncoder().encode(signed.body) };
      same((await verdictOn(data, sent, [keys.secret], NOW)).outcome, outcome);
    },
  });
  const refusesWith = (what: string, changed: Partial<CertificateScheme>, body?: object) =>
    answersWith('refused', what, changed, body);
  return [
    ...scheme.from.map((from) => answersWith('verified', `accepts a certificate at ${from}`, { from: [from] })),
    ...(scheme.claims ?? []).map((claim, n) => {
      const { is, like } = claim;
      const claims = scheme.claims?.toSpliced(n, 1, ...(is === undefined ? [] : [{ ...claim, is: `${is}x` }])) ?? [];
      const field = [claim.at].flat()[0]?.slice('json:'.length) ?? '';
      return refusesWith(
        `refuses a delivery without the right ${claim.at}`,
        { claims },
        like && { [field]: 'one\ntwo' },
      );
    }),
    ...['https://example.com/SimpleNotificationService-*.pem', `${scheme.from[0]}/..`, `${scheme.from[0]}?x`].map(
      (from) => refusesWith(`refuses a certificate at ${from}`, { from: [from] }),
    ),
    { what: 'fetches its certificate from where the delivery says', run: (data) => checkCertificate(name, data) },
  ];
}

async function checkCertificate(name: string, data: Provider): Promise<void> {
  const keys = keysOf(name);
  const [settings = ''] = keys.secret.split(' key:');
  fetchedAt += 2 * 86_400_000;
  const now = new Date(fetchedAt);
  const asked: string[] = [];
  const real = globalThis.fetch;
  globalThis.fetch = async (url) => {
    asked.push(String(url));
    return new Response('');
  };
  try {
    const sent = deliver(name, { keys, now });
    const { outcome } = await verdictOn(data, sent, [settings], now);
    const { scheme } = providerOf(name);
    const place = scheme.check !== undefined && scheme.kind === 'certificate' ? scheme.certificate : undefined;
    const url = place?.startsWith('json:')
      ? JSON.parse(sent.text)[place.slice(5)]
      : sent.headers.get(place?.slice(7) ?? '');
    same([outcome, asked], ['keys_unavailable', [url]]);
  } finally {
    globalThis.fetch = real;
  }
}

/** A day later each time, so that nothing is kept of an earlier check. */
let fetchedAt = NOW.getTime();

async function checkFetch(name: string, data: Provider): Promise<void> {
  fetchedAt += 2 * 86_400_000;
  const now = new Date(fetchedAt);
  const { scheme } = providerOf(name);
  if (scheme.check === undefined || scheme.kind !== 'jose') throw new Error(name);
  const keys = keysOf(name);
  const [settings = '', key = ''] = keys.secret.split(' key:');
  const publicKey = createPublicKey({ key: Buffer.from(key, 'base64'), type: 'spki', format: 'der' });
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'sample', alg: scheme.algorithm };
  const words = settingsOf(scheme, settings) ?? { words: {} };
  const [, expected = ''] = /(?:at|from) (\S+)$/.exec(factOf(proofOf(name).facts.key)) ?? [];
  const asked: unknown[] = [];
  const real = globalThis.fetch;
  globalThis.fetch = async (url, init) => {
    asked.push([String(url), ...Object.values(JSON.parse(String(init?.body ?? '{}')))]);
    return Response.json({ keys: [jwk], key: jwk });
  };
  try {
    const verdict = await verdictOn(data, deliver(name, { keys, now }), [settings], now);
    const sentWords = 'post' in scheme.keys ? [...Object.values(words.words).slice(0, 2), 'sample'] : [];
    same([verdict.outcome, asked], ['verified', [[filled(expected, words), ...sentWords]]]);
  } finally {
    globalThis.fetch = real;
  }
}

const GET = { method: 'GET', body: null };

async function checkHandshake(name: string, data: Provider, example: HandshakeExample): Promise<void> {
  const { limited, unlike = [], signed, handsOver = false, calls, reply, query, method } = example;
  const isPost = query === undefined || method === 'POST';
  const changed = (from: string, to: string): HandshakeExample =>
    JSON.parse(JSON.stringify(example).replaceAll(from, to));
  const ask = (one: HandshakeExample, secret = CHECK_SECRET, init = {}, awaits = handsOver || calls !== undefined) => {
    const url = `https://example.com/webhooks/${name}?${(one.query ?? '').replace('{verifyToken}', VERIFY_TOKEN)}`;
    const usual = hasTextKey(name) ? { secret: CHECK_SECRET, signingKey: CHECK_SECRET } : keysOf(name);
    const keys = secret === CHECK_SECRET ? usual : madeUpKeys(providerOf(name));
    const body = one.body ?? '';
    const delivered = one.signed ? deliver(name, { keys, now: NOW, body }) : undefined;
    const headers = new Headers(delivered?.headers ?? {});
    for (const [key, value] of Object.entries(one.headers ?? {})) headers.set(key, value);
    const sent: Sent = {
      method: 'POST',
      url,
      headers,
      body: new Uint8Array(),
      text: delivered?.text ?? body,
      keys: usual,
    };
    const asked = isPost ? {} : GET;
    return receive(data, sent, { ...asked, ...init }, awaits);
  };
  const isRefused = async (asked: Promise<Received>) => same((await asked).outcome === 'handshake', false);

  const called: string[] = [];
  const { answer, text, outcome, sealed } = await withFetch(called, 200, () => ask(example));
  same(outcome, 'handshake');
  sameReply(answer, text, reply);
  same(sealed !== undefined, handsOver);
  same(called, calls === undefined ? [] : [calls]);
  if (handsOver || calls) await isRefused(ask(example, CHECK_SECRET, {}, false));
  if (calls) same((await withFetch([], 302, () => ask(example))).answer.status, 503);
  if (signed) await isRefused(ask(example, 'another'));
  if (signed) await isRefused(ask(example, CHECK_SECRET, { headers: {} }));
  // Its signature is inside the body, and here it isn't.
  if (calls) await isRefused(withFetch(called, 200, () => ask(example, CHECK_SECRET, { body: example.body ?? '' })));
  if (query !== undefined) await isRefused(ask(example, CHECK_SECRET, isPost ? GET : { method: 'POST', body: '' }));
  for (const [from, to] of unlike) {
    const asked = () => ask(changed(from, to));
    await isRefused(calls ? withFetch([], 200, asked) : asked());
  }
  if (limited) for (const to of ['<b>', 'x'.repeat(257), 'a b']) await isRefused(ask(changed(limited, to)));
}

/** Somebody else answers all calls to the outside with this status. */
async function withFetch<Value>(called: string[], status: number, work: () => Promise<Value>): Promise<Value> {
  const real = globalThis.fetch;
  // Neon is called with options of its own, and is away.
  globalThis.fetch = async (url, init) => {
    if (init?.method === 'POST') return real(url, init);
    called.push(String(url));
    return new Response('', { status });
  };
  try {
    return await work();
  } finally {
    globalThis.fetch = real;
  }
}

/** Otherwise it is a pair of keys, and its secret is public. */
function hasTextKey(name: string): boolean {
  const { scheme } = providerOf(name);
  return scheme.token === undefined && scheme.check === undefined && scheme.key === 'utf8';
}

async function checkAnswer(name: string, data: Provider, ack: Reply | undefined): Promise<void> {
  const { answer, text, events } = await receive(data, deliver(name, { keys: keysOf(name) }));
  if (ack) return sameReply(answer, text, ack);
  const counts = events.length === 1 ? {} : { accepted: events.length, duplicate: 0 };
  same([answer.status, JSON.parse(text)], [200, { status: 'accepted', ...counts }]);
}

function sameReply(answer: Response, text: string, reply: Reply): void {
  const headers = Object.entries({ 'content-type': null, ...reply.headers });
  same([answer.status, text], [reply.status, reply.text ?? '']);
  same(
    headers.map(([key]) => [key, answer.headers.get(key)]),
    headers,
  );
}

async function checkSize(name: string, data: Provider, bytes: number): Promise<void> {
  const sample = deliver(name, { keys: keysOf(name) });
  const [more, fill] = providerOf(name).form ? ['&more=', 'x'] : ['', ' '];
  // The payload of a token, which takes a third more in it: not every length can be reached.
  const payload = isEvent(name) ? payloadIn(sample) : undefined;
  const statusOf = async (length: number) => {
    const text = payload ?? sample.text + more;
    const missing = length - Buffer.byteLength(payload === undefined ? text : sample.text);
    const body = text + fill.repeat(payload === undefined ? missing : Math.floor(missing / 4) * 3);
    const { answer } = await receive(data, deliver(name, { keys: keysOf(name), body }));
    return answer.status;
  };
  same([(await statusOf(bytes)) < 300, await statusOf(bytes + (payload === undefined ? 1 : 4))], [true, 413]);
}

/** The token is the whole body, or its only field. */
function payloadIn({ text: body }: Sent): string {
  const text = body.startsWith('{') ? Object.values<string>(JSON.parse(body)).join() : body;
  return Buffer.from(text.split('.')[1] ?? '', 'base64url').toString();
}

function payloadOf(name: string): string {
  return payloadIn(deliver(name, { keys: keysOf(name) }));
}

function isEvent(name: string): boolean {
  const { scheme } = providerOf(name);
  return scheme.check !== undefined && scheme.kind === 'jose' && scheme.isEvent === true;
}

const keys = new Map<string, Sent['keys']>();

/** Made up once: ECDSA keys take time. */
function keysOf(name: string): Sent['keys'] {
  const made = keys.get(name) ?? madeUpKeys(providerOf(name));
  keys.set(name, made);
  return made;
}

function same(actual: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(actual, expected))
    throw new Error(`${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`);
}
