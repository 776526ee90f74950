// What a delivery is answered, and what the log says, before anything reaches Postgres.
import { createHash, randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { madeUpKeys } from '../../cli/samples/sign.ts';
import type { Provider } from '../../src/kit/index.ts';
import { sources } from '../fixture/sources.ts';
import { type SignedDelivery, signers } from '../signatures.ts';
import { names, providerOf, withBody } from '../verify/deliveries.ts';
import { startReceiver } from './in-node.ts';
import { useProviders } from './providers/running.ts';

const secret = 'the secret of these tests';
const env = { STRIPE_WEBHOOK_SECRET: secret, GETHOOK_WEBHOOK_SECRET: secret, GITHUB_WEBHOOK_SECRET: secret };

let receiver: ReturnType<typeof startReceiver>;
beforeEach(() => {
  receiver = startReceiver({ sources, env });
});

async function answerTo(source: string, sent: RequestInit) {
  const answer = await receiver.send(source, sent);
  const isProblem = answer.headers.get('content-type') === 'application/problem+json';
  return [answer.status, isProblem, await answer.json().catch(() => 'not JSON')];
}
const problem = (status: number, title: string, detail?: string) => [
  status,
  true,
  { type: 'about:blank', title, status, ...(detail === undefined ? {} : { detail }) },
];
const gethook = (body: string) => signers.gethook(body, { secret });
const outcomes = () => receiver.lines.map(({ outcome, reason }) => reason ?? outcome);

describe('a delivery whose signature is wrong', () => {
  const stripe = async (change: (header: string) => string): Promise<SignedDelivery> => {
    const { headers, body } = await signers.stripe('{"id":"evt_1"}', { secret });
    return { body, headers: { 'stripe-signature': change(headers['stripe-signature'] ?? '') } };
  };

  it.each<[what: string, reason: string, sent: () => RequestInit | Promise<RequestInit>]>([
    ['without a signature', 'signature missing', () => ({ body: '{"id":"evt_1"}' })],
    ['with an empty body that nobody signed', 'signature missing', () => ({ body: '' })],
    ['with a signature that is not hex', 'signature malformed', () => stripe((text) => text.replace(/v1=./, 'v1=z'))],
    ['signed with another secret', 'signature mismatch', () => signers.stripe('{"id":"evt_1"}', { secret: 'another' })],
    ['without its timestamp', 'signed header missing', () => stripe((text) => text.replace(/t=\d+,/, ''))],
    [
      'signed long ago',
      'timestamp outside the window',
      () => signers.stripe('{"id":"evt_1"}', { secret, now: new Date('2020-01-01') }),
    ],
  ])('a delivery %s is refused with 401, and only the log says why', async (_what, reason, sent) => {
    expect(await answerTo('stripe', await sent())).toEqual(problem(401, 'The signature is missing, wrong or stale'));
    expect(outcomes()).toEqual([reason]);
    expect(receiver.forwarded).toEqual([]);
  });
});

it('a token inside a form is looked for in the body, which is read for it', async () => {
  const inForm: Provider = { ...sources.gethook.provider, scheme: { token: 'form:t' }, form: true };
  receiver = startReceiver({ sources: { gethook: { provider: inForm, types: [] } }, env });
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const statusOf = async (t: string) =>
    (await receiver.send('gethook', { headers, body: String(new URLSearchParams({ id: '1', t })) })).status;
  expect([await statusOf(secret), await statusOf('wrong')]).toEqual([200, 401]);
});

describe('a verified delivery without a claimable event', () => {
  it.each<[what: string, body: string | number[], detail: string]>([
    ['an empty body', '', 'not JSON'],
    ['truncated JSON', '{"id":"evt_1","type":', 'not JSON'],
    ['a byte order mark', '\ufeff{"id":"evt_1"}', 'not JSON'],
    ['arrays nested 100,000 deep', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'not JSON'],
    ['a JSON array', '[{"id":"evt_1"}]', 'not a JSON object'],
    ['a JSON string', '"evt_1"', 'not a JSON object'],
    ['a JSON null', 'null', 'not a JSON object'],
    ['invalid UTF-8', [0x22, 0xff, 0x22], 'not UTF-8'],
    ['half a character in raw bytes', [0x22, 0xed, 0xa0, 0x80, 0x22], 'not UTF-8'],
  ])('a verified delivery with %s is answered 400', async (_what, text, detail) => {
    const body = Buffer.from(text as string);
    const signed = await signers.gethook(body as unknown as string, { secret });
    const title = 'The delivery is signed correctly, but it contains no event that can be claimed';
    expect(await answerTo('gethook', signed)).toEqual(problem(400, title, detail));
    expect(outcomes()).toEqual([detail]);
    expect(receiver.forwarded).toEqual([]);
  });
});

describe('a verified delivery whose event has no usable id', () => {
  const event = (id: unknown) => JSON.stringify({ id, type: 'test' });
  const hash = (body: string) => createHash('sha256').update(body).digest('hex');

  // For many providers a 4xx is final, so a 400 would lose the event.
  it.each([
    ['no id', '{"type":"test"}'],
    ['an empty id', event('')],
    ['an id of blanks', event('   ')],
    ['an id of 513 characters', event('x'.repeat(513))],
    ['an id with a control character', event('evt\u0000_1')],
    ['an id with a line break', event('evt\n_1')],
    ['an id with half a character', '{"id":"evt_\\ud800"}'],
    ['an id that is an object', event({ toString: 'evt_1' })],
    ['an id that is a list', event(['evt_1'])],
    ['an id in __proto__ only', '{"__proto__":{"id":"evt_1","type":"test"}}'],
    ['an id that no URL can have, a full stop', event('.')],
    ['an id that no URL can have, two full stops', event('..')],
    ['an id of 500,000 digits', `{"id":${'9'.repeat(500_000)}}`],
    ['an id beyond all numbers', '{"id":1e999}'],
  ])('is claimed once by its content: %s', async (_what, body) => {
    expect(await answerTo('gethook', await gethook(body))).toEqual([200, false, { status: 'accepted' }]);
    expect(await receiver.events()).toMatchObject([{ eventId: hash(body), body }]);
  });

  it('an id of 512 characters is usable', async () => {
    await receiver.send('gethook', await gethook(event('x'.repeat(512))));
    expect(await receiver.events()).toMatchObject([{ eventId: 'x'.repeat(512) }]);
  });
});

describe('what is made to cost time is soon answered', () => {
  /** Far more than any of them needs, because the machine may be slow. Of CPU time, which a busy machine doesn't change. */
  const SOON_MICROSECONDS = 5_000_000;

  async function expectSoon(answered: () => Promise<Response>, statuses: readonly number[]): Promise<void> {
    const before = process.cpuUsage();
    expect(statuses).toContain((await answered()).status);
    expect(process.cpuUsage(before).user).toBeLessThan(SOON_MICROSECONDS);
  }

  it.each([`t=${Math.floor(Date.now() / 1000)}`, ',v1=0', ',', 'v1=', 't=1,v1', ' \t'])(
    'ten thousand times %j in the header of a signature',
    (entry) => {
      const headers = { 'stripe-signature': `t=1${entry.repeat(10_000)}` };
      return expectSoon(async () => receiver.send('stripe', { headers, body: '{}' }), [401]);
    },
  );

  const MANY = 50_000;
  it.each([
    ['a number of 500,000 digits', `"n":${'9'.repeat(500_000)}`],
    ['a fraction of 500,000 digits', `"n":0.${'9'.repeat(500_000)}`],
    ['an exponent of 500,000 digits', `"n":1e${'9'.repeat(500_000)}`],
    ['a fraction with 200,000 zeros inside', `"n":1.${'0'.repeat(200_000)}1`],
    ['fifty thousand numbers that JavaScript rounds', `"n":[${Array(MANY).fill('9007199254740993')}]`],
    ['fifty thousand keys', String(Array.from({ length: MANY }, (_, n) => `"k${n}":1`))],
    ['fifty thousand times the same key', String(Array(MANY).fill('"k":1'))],
    ['keys that every object has', '"__proto__":{"id":"b"},"constructor":{},"toString":1,"hasOwnProperty":0'],
    ['escaped NULs and halves of characters', `"a":"${'\\u0000\\ud800'.repeat(40_000)}"`],
  ])('a verified body with %s, which is accepted', async (_what, fields) => {
    const sent = await gethook(`{${fields},"id":"a"}`);
    await expectSoon(async () => receiver.send('gethook', sent), [200]);
    expect(await receiver.events()).toMatchObject([{ eventId: 'a' }]);
  });

  const all = useProviders();
  it.each(names)('a delivery of %s with long headers, many parameters and a huge body, signed by nobody', (name) => {
    const forged = all.sample(name, { keys: madeUpKeys(providerOf(name)) });
    const sent = withBody(forged, '{"a":['.padEnd(900_000, '[1,"\\u0000"],'));
    const url = new URL(sent.url);
    url.search += `&${'a=b&'.repeat(5000)}`;
    const headers = new Headers([...sent.headers, ['x-long', 'x'.repeat(20_000)]]);
    return expectSoon(() => all.start().deliver(name, { ...sent, url: url.href, headers }), [401, 413]);
  });
});

describe('a request that is not a delivery', () => {
  it.each(['nobody', 'constructor', '__proto__', 'stripe%2f', '%00', 'stripe/more', ''])(
    'a delivery to the source %j is answered 404',
    async (source) => {
      const signed = await signers.stripe('{}', { secret });
      expect(await answerTo(source, signed)).toEqual(problem(404, 'There is no such source'));
    },
  );
});

describe('a body over the limit', () => {
  const small = { ...sources.gethook.provider, maxBytes: 2000 };
  const limits = {
    gethook: [sources.gethook, 1024 * 1024],
    provider: [{ provider: small, types: [] }, 2000],
    lower: [{ provider: small, types: [], maxBytes: 1000 }, 1000],
    higher: [{ provider: small, types: [], maxBytes: 3000 }, 3000],
  } as const;
  const body = (length: number) => `{"id":"${randomUUID()}"}`.padEnd(length);
  const chunked = (text: string) =>
    new ReadableStream({
      start(controller) {
        for (let at = 0; at < text.length; at += 700) controller.enqueue(Buffer.from(text.slice(at, at + 700)));
        controller.close();
      },
    });

  it.each(Object.entries(limits))(
    'a body over the limit is answered 413, and one of exactly the limit is accepted: %s',
    async (_which, [source, limit]) => {
      receiver = startReceiver({ sources: { gethook: source }, env });
      for (const length of [limit, limit + 1]) {
        const expected =
          length === limit
            ? [200, false, { status: 'accepted' }]
            : problem(413, 'The body is larger than this source accepts');
        const signed = await gethook(body(length));
        const announced = { ...signed.headers, 'content-length': String(length) };
        expect(await answerTo('gethook', { ...signed, headers: announced })).toEqual(expected);
        expect(await answerTo('gethook', { ...signed, body: chunked(signed.body) })).toEqual(expected);
      }
      expect(outcomes()).toEqual(expect.arrayContaining(['accepted', 'too_large']));
    },
  );
});
