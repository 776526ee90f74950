// When a delivery is answered, with what, and what is done afterwards.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Provider } from '../../src/kit/index.ts';
import { meta } from '../../src/providers/meta.ts';
import { sources } from '../fixture/sources.ts';
import { signers } from '../signatures.ts';
import { neonAnswer, startReceiver } from './in-node.ts';

const secret = 'the secret of these tests';
const env = { STRIPE_WEBHOOK_SECRET: secret, GETHOOK_WEBHOOK_SECRET: secret, GITHUB_WEBHOOK_SECRET: secret };

let receiver: ReturnType<typeof startReceiver>;
beforeEach(() => {
  receiver = startReceiver({ sources, env });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

describe('a source that is not configured yet', () => {
  const tryAgain = [503, '30'];
  const deliver = async (source: 'stripe' | 'github' | 'sesmetric' | 'standardwebhooks', signedWith = secret) => {
    const answer = await receiver.send(source, await signers[source]('{}', { secret: signedWith }));
    return [answer.status, answer.headers.get('retry-after')];
  };

  it('is answered 503, and the log names the missing secret of each source once', async () => {
    receiver = startReceiver({ sources, env: { GITHUB_WEBHOOK_SECRET: '', STRIPE_WEBHOOK_SECRET_PREVIOUS: secret } });
    for (const source of ['stripe', 'github', 'stripe', 'github'] as const)
      expect(await deliver(source)).toEqual(tryAgain);
    const missing = { step: 'configuration', outcome: 'no_usable_secret' };
    expect(receiver.lines.filter(({ step }) => step === 'configuration')).toEqual([
      { ...missing, source: 'stripe', variable: 'STRIPE_WEBHOOK_SECRET' },
      { ...missing, source: 'github', variable: 'GITHUB_WEBHOOK_SECRET' },
    ]);
    expect(receiver.lines).toHaveLength(6);
  });

  it('a secret that is not in the form of its provider is as good as none', async () => {
    receiver = startReceiver({ sources, env: { STANDARDWEBHOOKS_WEBHOOK_SECRET: 'not base64!' } });
    expect(await deliver('standardwebhooks', 'whsec_aaaa')).toEqual(tryAgain);
    expect(receiver.lines.map(({ step, outcome }) => [step, outcome])).toEqual([
      ['configuration', 'no_usable_secret'],
      ['delivery', 'no_usable_secret'],
    ]);
  });

  it.each([
    undefined,
    '',
    'not a URL',
    'https://example.com/',
    'postgres://localhost/database',
    'postgres://user@localhost/',
  ])(
    'with the DATABASE_URL %j a delivery is answered 503 and not put on the queue, and the log names the variable once',
    async (DATABASE_URL) => {
      receiver = startReceiver({ sources, env: { ...env, DATABASE_URL } });
      for (const source of ['stripe', 'github', 'stripe'] as const) expect(await deliver(source)).toEqual(tryAgain);
      expect(receiver.forwarded).toEqual([]);
      expect(receiver.lines.filter(({ step }) => step === 'configuration')).toEqual([
        { step: 'configuration', outcome: 'no_database_url', variable: 'DATABASE_URL' },
      ]);
    },
  );

  it('a delivery that neither Postgres nor the queue takes is answered 503 with Retry-After', async () => {
    const EVENTS = { send: () => Promise.reject(new Error('Too Many Requests (10250)')) };
    receiver = startReceiver({ sources, env: { ...env, EVENTS } });
    expect(await deliver('stripe')).toEqual(tryAgain);
    expect(receiver.lines.at(-1)).toMatchObject({ step: 'delivery', outcome: 'not_held' });
  });
});

it('a delivery signed with the previous secret is accepted while that secret is set', async () => {
  const rotating = { ...env, STRIPE_WEBHOOK_SECRET_PREVIOUS: 'the secret before this one' };
  receiver = startReceiver({ sources, env: rotating });
  const post = async (signedWith: string) =>
    (await receiver.send('stripe', await signers.stripe('{}', { secret: signedWith }))).status;
  expect([await post(secret), await post('the secret before this one'), await post('another')]).toEqual([
    200, 200, 401,
  ]);
  receiver = startReceiver({ sources, env });
  expect(await post('the secret before this one')).toBe(401);
});

it('a delivery is as old as it is when its body is complete, and however long it took, it is accepted if it is fresh', async () => {
  const signedAt = new Date('2026-03-01T12:00:00Z');
  const { headers, body } = await signers.stripe('{"id":"evt_1"}', { secret, now: signedAt });
  for (const [seconds, status] of [
    [300, 200],
    [301, 401],
  ] as const) {
    let now = signedAt;
    receiver = startReceiver({ sources, env, now: () => now });
    const halves = [body.slice(0, 5), body.slice(5)];
    const slow = new ReadableStream({
      pull(controller) {
        const half = halves.shift();
        if (half === undefined) return controller.close();
        if (halves.length === 0) now = new Date(signedAt.getTime() + seconds * 1000);
        controller.enqueue(Buffer.from(half));
      },
    });
    expect((await receiver.send('stripe', { headers, body: slow })).status).toBe(status);
    expect(receiver.lines.at(-1)).toMatchObject(
      status === 200 ? { outcome: 'accepted', ms: 300_000 } : { outcome: 'refused', seconds_off: 301 },
    );
  }
});

it('the answer is the one that the provider demands, and the log says which secret signed, whatever becomes of a delivery', async () => {
  const demanding = { ...sources.gethook.provider, batch: { each: ['*'] }, ack: { status: 204 } } as Provider;
  const rotating = { GETHOOK_WEBHOOK_SECRET: 'another', GETHOOK_WEBHOOK_SECRET_PREVIOUS: secret };
  const DATABASE_URL = 'postgres://user:password@db.example.com/database';
  vi.stubGlobal('fetch', async () => neonAnswer({ eventId: 'a' }));
  const told = async (body: string, more: object = {}, signedWith = secret) => {
    receiver = startReceiver({
      sources: { gethook: { provider: demanding, types: [] } },
      env: { ...rotating, ...more },
    });
    const signed = await signers.gethook(body, { secret: signedWith });
    const { status } = await receiver.send('gethook', body === '' ? { body } : signed);
    return [status, receiver.lines.findLast(({ step }) => step === 'delivery')];
  };
  const line = {
    step: 'delivery',
    source: 'gethook',
    outcome: 'accepted',
    signed_with: 'previous',
    ms: expect.any(Number),
  };
  const one = '[{"id":"a"}]';
  expect(await told(one, { DATABASE_URL })).toEqual([204, { ...line, event_id: 'a' }]);
  expect(await told(one, { DATABASE_URL }, 'another')).toEqual([
    204,
    { ...line, event_id: 'a', signed_with: 'current' },
  ]);
  vi.unstubAllGlobals();
  expect(await told(one)).toEqual([204, { ...line, event_id: 'a', forwarded: true }]);
  expect(await told('[]')).toEqual([204, { ...line, event_ids: [], events: 0 }]);
  expect(await told('[')).toEqual([400, { ...line, outcome: 'unclaimable', reason: 'not JSON' }]);
  const { signed_with: _, ...refused } = { ...line, outcome: 'refused' };
  expect(await told('[]', {}, 'wrong')).toEqual([401, { ...refused, reason: 'signature mismatch' }]);
  const missing = 'header:x-gethook-signature';
  expect(await told('')).toEqual([401, { ...refused, reason: 'signature missing', missing }]);
});

it('a body no longer counts once its delivery is answered, however small it was', async () => {
  const headers = { 'x-gethook-signature': '00' };
  // A few more than the blocks of 4 KiB that the budget has.
  for (let n = 0; n < 5200; n++) expect((await receiver.send('gethook', { headers, body: '1' })).status).toBe(401);
});

// Contracts of security: another way to do the same must keep them, too.

it('the body of a delivery with a wrong signature is not parsed', async () => {
  const parse = vi.spyOn(JSON, 'parse');
  expect((await receiver.send('gethook', await signers.gethook('{}', { secret: 'another' }))).status).toBe(401);
  expect(parse).not.toHaveBeenCalled();
});

it('crypto.subtle.verify alone decides whether a verify token is right, so that the time of an answer reveals nothing', async () => {
  const named = { meta: { provider: meta, types: [] } };
  receiver = startReceiver({ sources: named, env: { META_WEBHOOK_SECRET: secret, META_VERIFY_TOKEN: 'right' } });
  const query = 'meta?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=';
  const status = async (token: string) => (await receiver.send(query + token, { method: 'GET' })).status;
  const verify = vi.spyOn(crypto.subtle, 'verify').mockResolvedValue(true);
  expect(await status('wrong')).toBe(200);
  verify.mockResolvedValue(false);
  expect(await status('right')).toBe(401);
});

it('the answer to a batch says how many of its events are new, parked ones too, and tickets of the others are looked up', async () => {
  const { provider } = sources.gethook;
  const unsigned = { ...provider, id: { ...provider.id, signed: false }, batch: { each: ['*'] } } as Provider;
  const ids = ['a', 'b', 'c'];
  const answerIf = async (claimed: readonly string[], parked: readonly string[]) => {
    let isLookedUp = false;
    vi.stubGlobal('fetch', async (_url: unknown, init?: RequestInit) => {
      const { query } = JSON.parse(String(init?.body));
      isLookedUp ||= query.includes('isOverdue');
      if (!query.includes("'parked'"))
        return neonAnswer(...claimed.map((eventId) => ({ eventId, outcome: 'claimed' })));
      const rest = ids.filter((id) => !claimed.includes(id));
      return neonAnswer(
        ...rest.map((eventId) => ({ eventId, outcome: parked.includes(eventId) ? 'parked' : 'known' })),
      );
    });
    const DATABASE_URL = 'postgres://user:password@db.example.com/database';
    receiver = startReceiver({
      sources: { gethook: { provider: unsigned, types: [] } },
      env: { ...env, DATABASE_URL },
    });
    const body = JSON.stringify(ids.map((id) => ({ id })));
    const answer = await receiver.send('gethook', await signers.gethook(body, { secret }));
    await receiver.settle();
    return [await answer.json(), isLookedUp];
  };
  expect(await answerIf(ids, [])).toEqual([{ status: 'accepted', accepted: 3, duplicate: 0 }, false]);
  expect(await answerIf(['a'], ['b', 'c'])).toEqual([{ status: 'accepted', accepted: 3, duplicate: 0 }, false]);
  expect(await answerIf(['b'], ['a'])).toEqual([{ status: 'accepted', accepted: 2, duplicate: 1 }, true]);
  expect(await answerIf([], [])).toEqual([{ status: 'duplicate', accepted: 0, duplicate: 3 }, true]);
});

it('white space at the ends of a secret is not part of it, and a secret of nothing else is none', async () => {
  const bare = 'the secret of the sender';
  const status = async (current: string, key: string) => {
    const own = { GETHOOK_WEBHOOK_SECRET: current, GETHOOK_WEBHOOK_SECRET_PREVIOUS: ' old\n' };
    receiver = startReceiver({ sources, env: { ...env, ...own } });
    return (await receiver.send('gethook', await signers.gethook('{"id":"a"}', { secret: key }))).status;
  };
  expect(await status(`${bare}\n`, bare)).toBe(200);
  expect(await status(`${bare}\n`, 'old')).toBe(200);
  expect(await status(bare, `${bare}\n`)).toBe(401);
  expect(await status(' \n', 'old')).toBe(503);
});

it('a flood of duplicates looks lost tickets up once a second, whatever source they are of', async () => {
  let now = new Date('2026-03-01T12:00:00Z');
  const queries: string[] = [];
  const postgres = vi.fn(async (_url: unknown, init?: RequestInit) => {
    const { query } = JSON.parse(String(init?.body));
    queries.push(query.includes('isOverdue') ? 'look-up' : 'claim');
    if (query.includes('isOverdue')) return neonAnswer({ eventId: 'a', isOverdue: true });
    // A claim that takes a millisecond, and the event is known: no row says so if its id is signed. And its ticket is lost.
    now = new Date(now.getTime() + 1);
    return query.includes('union all') ? neonAnswer({ outcome: 'known' }) : neonAnswer();
  });
  vi.stubGlobal('fetch', postgres);
  const DATABASE_URL = 'postgres://user:password@db.example.com/database';
  receiver = startReceiver({ sources, env: { ...env, DATABASE_URL }, now: () => now });
  const duplicate = async (source: 'gethook' | 'github', ms: number) => {
    now = new Date(now.getTime() + ms);
    queries.length = 0;
    const answer = await receiver.send(source, await signers[source]('{"id":"a"}', { secret, now }));
    expect(await answer.json()).toEqual({ status: 'duplicate' });
    await receiver.settle();
    return queries;
  };
  expect(await duplicate('gethook', 0)).toEqual(['claim', 'look-up']);
  expect(receiver.tickets).toEqual([{ version: 1, source: 'gethook', eventId: 'a' }]);
  expect(await duplicate('github', 998)).toEqual(['claim']);
  expect(await duplicate('github', 0)).toEqual(['claim', 'look-up']);
  expect(await duplicate('gethook', 1)).toEqual(['claim']);
});
