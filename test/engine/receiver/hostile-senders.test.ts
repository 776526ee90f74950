import { type ClientRequest, request } from 'node:http';
import { expect, it, vi } from 'vitest';
import { WAIT } from '../running.ts';
import { usePlainWorkerd } from './plain/workerd.ts';

const SECRET = 'a secret for all of them';
const workerd = usePlainWorkerd('test/engine/receiver/plain/wrangler.toml', {
  GITHUB_WEBHOOK_SECRET: SECRET,
  STRIPE_WEBHOOK_SECRET: SECRET,
  BROKEN_WEBHOOK_SECRET: SECRET,
});

const MiB = 1024 * 1024;
/** As large as GitHub's bodies may be. */
const LARGE = Buffer.alloc(5 * MiB, 'x');
/** Makes the receiver read the body: whether it is right shows only then. */
const SIGNATURE = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` };

function open(source: string, headers: Record<string, string | number>): ClientRequest {
  const url = `http://127.0.0.1:${workerd.port}/webhooks/${source}`;
  // The receiver answers before it has read everything, and closes the connection.
  return request(url, { method: 'POST', headers }).on('error', () => {});
}

const statusOf = (sending: ClientRequest) =>
  new Promise<number | undefined>((resolve) => {
    sending.on('response', (response) => resolve(response.resume().statusCode)).on('close', () => resolve(undefined));
  });

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** How much memory workerd needs for sixty bodies of which only the last bytes are missing, in MiB. */
async function memoryOfSixty(headers: Record<string, string>): Promise<number> {
  const before = workerd.memory();
  const sending = Array.from({ length: 60 }, () => open('github', { 'content-length': LARGE.length, ...headers }));
  const written = (one: ClientRequest) =>
    new Promise<void>((resolve) => {
      one.on('close', resolve).write(LARGE.subarray(10), () => resolve());
    });
  await Promise.race([Promise.all(sending.map(written)), pause(3000)]);
  await pause(500);
  const after = workerd.memory();
  for (const one of sending) one.destroy();
  return after - before;
}

let seen = 0;
/** The outcomes of the deliveries since the last call, once there are as many. */
async function outcomes(count: number): Promise<unknown[]> {
  const lines = () => workerd.lines().filter(({ step }) => step === 'delivery');
  await vi.waitFor(() => expect(lines().length).toBeGreaterThanOrEqual(seen + count), WAIT);
  const found = lines().slice(seen);
  seen = lines().length;
  return found.map(({ outcome }) => outcome);
}

it('sixty unfinished bodies without a signature are refused before they are read, and cost no memory', async () => {
  expect(await memoryOfSixty({})).toBeLessThan(50);
  expect(await outcomes(60)).toEqual(Array.from({ length: 60 }, () => 'refused'));
});

it('sixty unfinished bodies with a made-up signature are read only within the budget of the isolate', async () => {
  // The budget of 20 MiB, and the chunks that the bytes came in until workerd frees them.
  expect(await memoryOfSixty(SIGNATURE)).toBeLessThan(150);
  const found = await outcomes(60);
  expect(found.filter((outcome) => outcome === 'overloaded').length).toBeGreaterThan(50);
  expect(new Set(found)).toEqual(new Set(['overloaded', 'hung_up']));
});

it('a body that the budget has no room for is answered 503 with Retry-After, and the room is given back', async () => {
  const holding = Array.from({ length: 3 }, () => open('github', { 'content-length': LARGE.length, ...SIGNATURE }));
  for (const one of holding) one.write(LARGE.subarray(10));
  await pause(500);
  const send = async () => {
    const sending = open('github', { 'content-length': LARGE.length, ...SIGNATURE });
    sending.end(LARGE);
    return new Promise<[number | undefined, string | undefined]>((resolve) => {
      sending.on('response', ({ statusCode, headers }) => resolve([statusCode, headers['retry-after']]));
    });
  };
  expect(await send()).toEqual([401, undefined]);
  holding.push(open('github', { 'content-length': LARGE.length, ...SIGNATURE }));
  holding.at(-1)?.write(LARGE.subarray(10));
  await pause(500);
  expect(await send()).toEqual([503, '30']);
  for (const one of holding) one.destroy();
  expect((await outcomes(6)).toSorted()).toEqual(['hung_up', 'hung_up', 'hung_up', 'hung_up', 'overloaded', 'refused']);
  expect(await send()).toEqual([401, undefined]);
  expect(await outcomes(1)).toEqual(['refused']);
});

it('a body of one byte every tenth of a second is given up at the deadline and answered 503', async () => {
  const sending = open('github', { 'content-length': 1000, ...SIGNATURE });
  const started = performance.now();
  const status = statusOf(sending);
  const timer = setInterval(() => sending.write('x'), 100);
  expect(await status).toBe(503);
  clearInterval(timer);
  sending.destroy();
  expect(performance.now() - started).toBeGreaterThan(1900);
  expect(await outcomes(1)).toEqual(['too_slow']);
});

it('a sender that hangs up in the middle of its body is logged as such, and not as a mistake of ours', async () => {
  const sending = open('github', { 'content-length': 1000, ...SIGNATURE });
  sending.write('half of it');
  await pause(300);
  sending.destroy();
  expect(await outcomes(1)).toEqual(['hung_up']);
});

it('an exception of our own code is answered 503 and logged with its name and position, never with its message', async () => {
  const sending = open('broken', { 'x-signature': '00' });
  sending.end('{}');
  expect(await statusOf(sending)).toBe(503);
  expect(await outcomes(1)).toEqual(['error']);
  const line = workerd.lines().at(-1);
  expect(line).toMatchObject({ step: 'delivery', source: 'broken', outcome: 'error', error: 'RangeError' });
  expect(line?.position).toMatch(/^Object\.custom \(worker\.js:\d+:\d+\) < /);
  expect(JSON.stringify(workerd.lines())).not.toContain('canary');
});
