import { afterEach, expect, it, vi } from 'vitest';
import { meta } from '../../../src/providers/meta.ts';
import { createReceiver } from '../../../src/receiver/receive.ts';
import type { LogLine } from '../../../src/shared/log.ts';
import { searchedLog } from '../canaries/canaries.ts';
import { sources } from '../fixture/sources.ts';
import { signers } from '../signatures.ts';

const secret = 'the secret';
const text = '{"id":"evt_1","type":"charge.succeeded"}';

/** Nothing listens at this port. */
const AWAY = 'postgres://user:password@127.0.0.1:1/database';

afterEach(() => vi.restoreAllMocks());

/** Delivers an event while there is no Postgres. A queue that refuses leaves nothing that could hold it. */
async function deliver(signedWith: string, queue: { send: () => Promise<unknown> }): Promise<Response> {
  const receiver = createReceiver({ sources, now: () => new Date(), log: searchedLog });
  const { headers, body } = await signers.stripe(text, { secret: signedWith });
  const request = new Request('https://example.com/webhooks/stripe', { method: 'POST', headers, body });
  const env = { DATABASE_URL: AWAY, STRIPE_WEBHOOK_SECRET: secret, EVENTS: queue };
  return receiver.fetch(request, env as unknown as Env);
}

it('a delivery that neither Postgres nor the queue takes is answered 503 with Retry-After', async () => {
  const answer = await deliver(secret, { send: () => Promise.reject(new Error('Too Many Requests (10250)')) });
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '30']);
});

it.each([undefined, '', 'not a URL', 'https://example.com/'])(
  'with the DATABASE_URL %j a delivery is answered 503 and not put on the queue, and the log names the variable once',
  async (DATABASE_URL) => {
    const lines: LogLine[] = [];
    const receiver = createReceiver({ sources, now: () => new Date(), log: (line) => lines.push(line) });
    const send = vi.fn();
    const env = { DATABASE_URL, STRIPE_WEBHOOK_SECRET: secret, EVENTS: { send } } as unknown as Env;
    const { headers, body } = await signers.stripe(text, { secret });
    for (let n = 0; n < 2; n++) {
      const request = new Request('https://example.com/webhooks/stripe', { method: 'POST', headers, body });
      const answer = await receiver.fetch(request, env);
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '30']);
    }
    expect(send).not.toHaveBeenCalled();
    const delivery = { step: 'delivery', source: 'stripe', outcome: 'no_database_url', ms: expect.any(Number) };
    expect(lines).toEqual([
      { step: 'configuration', outcome: 'no_database_url', variable: 'DATABASE_URL' },
      delivery,
      delivery,
    ]);
  },
);

it.each(['/ops', '/ops/', '/ops/api/status', '/ops/metrics', '/'])('the path %s is answered 404', async (path) => {
  const receiver = createReceiver({ sources, now: () => new Date(), log: searchedLog });
  expect((await receiver.fetch(new Request(`https://example.com${path}`), {} as Env)).status).toBe(404);
});

it('the 200 waits until the event is held', async () => {
  const { promise: written, resolve: write } = Promise.withResolvers<void>();
  let answered = false;
  const answer = deliver(secret, { send: () => written }).finally(() => {
    answered = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(answered).toBe(false);
  write();
  expect((await answer).status).toBe(200);
});

it('the header of the signature is read once for a delivery', async () => {
  const receiver = createReceiver({ sources, now: () => new Date(), log: searchedLog });
  const { headers, body } = await signers.github(text, { secret });
  const request = new Request('https://example.com/webhooks/github', { method: 'POST', headers, body });
  const read = vi.spyOn(Headers.prototype, 'get');
  const env = { DATABASE_URL: AWAY, GITHUB_WEBHOOK_SECRET: secret, EVENTS: { send: async () => undefined } };
  expect((await receiver.fetch(request, env as unknown as Env)).status).toBe(200);
  expect(read.mock.calls.filter(([name]) => name === 'x-hub-signature-256')).toHaveLength(1);
});

it('the body of a delivery with a wrong signature is not parsed', async () => {
  const parse = vi.spyOn(JSON, 'parse');
  expect((await deliver('another secret', { send: async () => undefined })).status).toBe(401);
  expect(parse).not.toHaveBeenCalled();
});

it('crypto.subtle.verify alone decides whether a verify token is right, so that the time of an answer reveals nothing', async () => {
  const receiver = createReceiver({
    sources: { meta: { provider: meta, types: [] } },
    now: () => new Date(),
    log: searchedLog,
  });
  const status = async (token: string) => {
    const query = `hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=${token}`;
    const env = { META_WEBHOOK_SECRET: secret, META_VERIFY_TOKEN: 'right' } as unknown as Env;
    return (await receiver.fetch(new Request(`https://example.com/webhooks/meta?${query}`), env)).status;
  };
  const verify = vi.spyOn(crypto.subtle, 'verify').mockResolvedValue(true);
  expect(await status('wrong')).toBe(200);
  verify.mockResolvedValue(false);
  expect(await status('right')).toBe(401);
});
