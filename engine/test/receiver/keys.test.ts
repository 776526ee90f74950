import { generateKeyPairSync } from 'node:crypto';
import { createServer } from 'node:http';
import jsonwebtoken from 'jsonwebtoken';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { listen } from '../../cli/lib/port.ts';
import { WAIT } from '../database.ts';
import { usePlainWorkerd } from '../plain-workerd.ts';

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ANSWER_AFTER_MS = 500;

/** What the provider's host was asked. */
const asked: (string | undefined)[] = [];
const host = createServer((request, response) => {
  asked.push(request.url);
  const key = { ...pair.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256' };
  setTimeout(() => response.end(JSON.stringify({ keys: [key] })), ANSWER_AFTER_MS);
});
let port = 0;
beforeAll(async () => {
  port = await listen(host, 0);
});
afterAll(() => host.close());

const workerd = usePlainWorkerd('engine/test/receiver/keys-worker.ts', () => ({
  // Nothing listens there, so what is verified goes on the queue.
  DATABASE_URL: 'postgres://user:password@127.0.0.1:1/database',
  REMOTE_WEBHOOK_SECRET: `http://127.0.0.1:${port}/keys`,
}));

async function send(id: string, keyid = 'one', signal: AbortSignal | null = null): Promise<number | string> {
  const token = jsonwebtoken.sign({}, pair.privateKey, { algorithm: 'RS256', keyid });
  const url = `http://127.0.0.1:${workerd.port}/webhooks/remote`;
  const body = JSON.stringify({ id });
  try {
    return (await fetch(url, { method: 'POST', headers: { 'x-token': token }, body, signal })).status;
  } catch (error) {
    return error instanceof Error ? error.name : 'Error';
  }
}

// In workerd, each delivery has its own connections, which end with it.
it('deliveries at the same time share one fetch of the keys, also if the one that began it has hung up', async () => {
  const hungUp = send('first', 'one', AbortSignal.timeout(ANSWER_AFTER_MS / 2));
  await vi.waitFor(() => expect(asked).toHaveLength(1), WAIT);
  const others = await Promise.all(Array.from({ length: 20 }, (_, n) => send(`other-${n}`)));
  expect([await hungUp, ...new Set(others)]).toEqual(['TimeoutError', 200]);
  expect(await send('later')).toBe(200);
  expect(asked).toEqual(['/keys']);
  // Strangers, each with a key of their own.
  const strangers = await Promise.all(Array.from({ length: 20 }, (_, n) => send('stranger', `stranger-${n}`)));
  expect(new Set(strangers)).toEqual(new Set([503]));
  expect(asked).toEqual(['/keys']);
});
