// When a delivery is answered, with what, and what is done afterwards.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Provider } from '../../../src/kit/index.ts';
import { meta } from '../../../src/providers/meta.ts';
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

it('a delivery signed with the previous secret is accepted while that secret is set, and the log says which it was', async () => {
  const rotating = { ...env, STRIPE_WEBHOOK_SECRET_PREVIOUS: 'the secret before this one' };
  receiver = startReceiver({ sources, env: rotating });
  const post = async (signedWith: string) =>
    (await receiver.send('stripe', await signers.stripe('{}', { secret: signedWith }))).status;
  expect([await post(secret), await post('the secret before this one'), await post('another')]).toEqual([
    200, 200, 401,
  ]);
  const deliveries = receiver.lines.filter(({ step }) => step === 'delivery');
  expect(deliveries.map(({ signed_with }) => signed_with)).toEqual(['current', 'previous', undefined]);
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

it('the answer to a batch says how many of its events are new, and is `duplicate` if none is', async () => {
  const batch = { provider: { ...sources.gethook.provider, batch: { each: ['*'] } } as Provider, types: [] };
  const DATABASE_URL = 'postgres://user:password@db.example.com/database';
  receiver = startReceiver({ sources: { gethook: batch }, env: { ...env, DATABASE_URL } });
  const body = JSON.stringify([{ id: 'a' }, { id: 'b' }, { id: 'c' }]);
  const answerIf = async (...claimed: string[]) => {
    const rows = claimed.map((eventId) => ({ eventId, isNew: 'true' }));
    vi.stubGlobal('fetch', async () => neonAnswer(...rows));
    return (await receiver.send('gethook', await signers.gethook(body, { secret }))).json();
  };
  expect(await answerIf('a', 'b', 'c')).toEqual({ status: 'accepted', accepted: 3, duplicate: 0 });
  expect(await answerIf('b')).toEqual({ status: 'accepted', accepted: 1, duplicate: 2 });
  expect(await answerIf()).toEqual({ status: 'duplicate', accepted: 0, duplicate: 3 });
});

it('a flood of duplicates looks lost tickets up once a second, whatever source they are of', async () => {
  let now = new Date('2026-03-01T12:00:00Z');
  const queries: string[] = [];
  const postgres = vi.fn(async (_url: unknown, init?: RequestInit) => {
    const { query } = JSON.parse(String(init?.body));
    queries.push(query.includes('isOverdue') ? 'look-up' : 'claim');
    // A claim that returns no row: the event is known. And its ticket is lost.
    return query.includes('isOverdue') ? neonAnswer({ eventId: 'a', isOverdue: true }) : neonAnswer();
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
  expect(await duplicate('github', 999)).toEqual(['claim']);
  expect(await duplicate('github', 1)).toEqual(['claim', 'look-up']);
  expect(await duplicate('gethook', 1)).toEqual(['claim']);
});
