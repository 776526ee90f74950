import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { listen } from '../../../scripts/lib/port.ts';
import { signers } from '../signatures.ts';
import { usePlainWorkerd } from './plain/workerd.ts';

const SECRET = 'a secret';

/** In Neon's place: takes every request and never answers. */
const requests: { closed: boolean }[] = [];
const neon = createServer((_request, response) => {
  const request = { closed: false };
  requests.push(request);
  response.on('close', () => {
    request.closed = true;
  });
});
let port = 0;
beforeAll(async () => {
  port = await listen(neon, 0);
});
afterAll(() => neon.close());

const workerd = usePlainWorkerd(
  'test/engine/receiver/plain/wrangler.toml',
  () => ({ DATABASE_URL: `postgres://user:password@127.0.0.1:${port}/database`, GITHUB_WEBHOOK_SECRET: SECRET }),
  { queues: ['EVENTS'] },
);

it('a claim that Postgres does not answer is closed after its delivery was forwarded and answered', async () => {
  const { headers, body } = await signers.github('{"action":"opened"}', { secret: SECRET });
  const url = `http://127.0.0.1:${workerd.port}/webhooks/github`;
  const answer = fetch(url, { method: 'POST', headers, body }).then((response) => response.json());
  // Far above the claim's 1.5 s, and below every other time limit.
  const late = new Promise((resolve) => setTimeout(() => resolve('too late'), 8000));
  expect(await Promise.race([answer, late])).toEqual({ status: 'accepted' });
  // Before the 10 s after which a query ends by itself.
  await vi.waitFor(() => expect(requests).toEqual([{ closed: true }]), { timeout: 5000, interval: 50 });
});
