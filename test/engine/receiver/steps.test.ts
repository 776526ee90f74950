import { afterEach, expect, it, vi } from 'vitest';
import { meta } from '../../../src/providers/meta.ts';
import { createReceiver } from '../../../src/receiver/app.ts';
import { searchedLog } from '../canaries/canaries.ts';
import { sources } from '../fixture/sources.ts';
import { signers } from '../signatures.ts';

const secret = 'the secret';
const text = '{"id":"evt_1","type":"charge.succeeded"}';

afterEach(() => vi.restoreAllMocks());

/** Delivers an event while there is no Postgres. A queue that refuses leaves nothing that could hold it. */
async function deliver(signedWith: string, queue: { send: () => Promise<unknown> }): Promise<Response> {
  const receiver = createReceiver({ sources, now: () => new Date(), log: searchedLog });
  const { headers, body } = await signers.stripe(text, { secret: signedWith });
  const request = new Request('https://example.com/webhooks/stripe', { method: 'POST', headers, body });
  return receiver.fetch(request, { STRIPE_WEBHOOK_SECRET: secret, EVENTS: queue } as unknown as ReceiverEnv);
}

it('a delivery that neither Postgres nor the queue takes is answered 503 with Retry-After', async () => {
  const answer = await deliver(secret, { send: () => Promise.reject(new Error('Too Many Requests (10250)')) });
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '30']);
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
    const env = { META_WEBHOOK_SECRET: secret, META_VERIFY_TOKEN: 'right' } as unknown as ReceiverEnv;
    return (await receiver.fetch(new Request(`https://example.com/webhooks/meta?${query}`), env)).status;
  };
  const verify = vi.spyOn(crypto.subtle, 'verify').mockResolvedValue(true);
  expect(await status('wrong')).toBe(200);
  verify.mockResolvedValue(false);
  expect(await status('right')).toBe(401);
});
