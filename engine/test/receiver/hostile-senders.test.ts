import { type ClientRequest, createServer, request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import { listen } from '../../cli/lib/port.ts';
import { BODY_DEADLINE_MS } from '../../src/receiver/body.ts';
import { WAIT } from '../database.ts';
import { usePlainWorkerd } from '../plain-workerd.ts';
import { signers } from '../signatures.ts';

/** In Neon's place: takes every request and never answers. */
const requests: { closed: boolean }[] = [];
const neon = createServer((_request, response) => {
  const taken = { closed: false };
  requests.push(taken);
  response.on('close', () => {
    taken.closed = true;
  });
});
let neonPort = 0;
beforeAll(async () => {
  neonPort = await listen(neon, 0);
});
afterAll(() => neon.close());

const SECRET = 'a secret for all of them';
const workerd = usePlainWorkerd('engine/test/receiver/broken-worker.ts', () => ({
  DATABASE_URL: `postgres://user:password@127.0.0.1:${neonPort}/database`,
  GITHUB_WEBHOOK_SECRET: SECRET,
  BROKEN_WEBHOOK_SECRET: SECRET,
}));

/** The receiver still holds the bodies that this test has begun. */
const BEFORE_DEADLINE = { timeout: BODY_DEADLINE_MS - 2000, interval: 50 };

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

/** Undefined if the connection is closed without an answer. */
const statusAndRetryAfter = (sending: ClientRequest) =>
  new Promise((resolve) => {
    sending.on('response', (answer) => resolve([answer.resume().statusCode, answer.headers['retry-after']]));
    sending.on('close', () => resolve(undefined));
  });

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** How much memory workerd needs for sixty bodies of which only the last bytes are missing, in MiB. */
async function memoryOfSixty(headers: Record<string, string>): Promise<number> {
  const memory = workerd.memory();
  const sending = Array.from({ length: 60 }, () => open('github', { 'content-length': LARGE.length, ...headers }));
  const written = (one: ClientRequest) =>
    new Promise<void>((resolve) => {
      one.on('close', resolve).write(LARGE.subarray(10), () => resolve());
    });
  await Promise.race([Promise.all(sending.map(written)), pause(BODY_DEADLINE_MS - 1000)]);
  await pause(500);
  const growth = workerd.memory() - memory;
  for (const one of sending) one.destroy();
  return growth;
}

const deliveries = () => workerd.lines().filter(({ step }) => step === 'delivery');

let before = 0;
beforeEach(() => {
  before = deliveries().length;
});

/** The outcomes of this test's deliveries, once there are as many. */
async function outcomes(count: number): Promise<unknown[]> {
  await vi.waitFor(() => expect(deliveries().length - before).toBeGreaterThanOrEqual(count), WAIT);
  return deliveries()
    .slice(before)
    .map(({ outcome }) => outcome);
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
});

it.each([
  ['closes its connection', (sending: ClientRequest) => sending.destroy()],
  ['resets its connection', (sending: ClientRequest) => sending.socket?.resetAndDestroy()],
])(
  'a body that the budget has no room for is answered 503 with Retry-After, until a sender %s',
  async (_how, hangUp) => {
    const hold = () => {
      const sending = open('github', { 'content-length': LARGE.length, ...SIGNATURE });
      sending.write(LARGE.subarray(10));
      return sending;
    };
    /** Small enough to be sent whole before the answer comes, but larger than the bytes that four large bodies lack. */
    const send = async () => {
      const sending = open('github', SIGNATURE);
      sending.end('x'.repeat(1000));
      return statusAndRetryAfter(sending);
    };
    const holding = [hold(), hold(), hold()];
    await pause(500);
    expect(await send()).toEqual([401, undefined]);
    holding.push(hold());
    await vi.waitFor(async () => expect(await send()).toEqual([503, '30']), BEFORE_DEADLINE);
    for (const one of holding) hangUp(one);
    await vi.waitFor(async () => expect(await send()).toEqual([401, undefined]), WAIT);
    await vi.waitFor(async () => {
      expect((await outcomes(0)).filter((outcome) => outcome === 'hung_up')).toHaveLength(4);
    }, WAIT);
  },
);

it('a chunked body is counted as it arrives, whatever length it announces', async () => {
  const socket = connect(workerd.port, '127.0.0.1').on('error', () => {});
  const head = { host: 'localhost', 'content-length': 5, 'transfer-encoding': 'chunked', ...SIGNATURE };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}`);
  socket.write(['POST /webhooks/github HTTP/1.1', ...lines, '', ''].join('\r\n'));
  for (let n = 0; n < 6; n++) socket.write(`100000\r\n${'x'.repeat(MiB)}\r\n`);
  expect(await outcomes(1)).toEqual(['too_large']);
  socket.destroy();
});

it('an exception of our own code is answered 503 and logged with its name and position, never with its message', async () => {
  const sending = open('broken', { 'x-signature': '00' });
  sending.end('{}');
  expect(await statusAndRetryAfter(sending)).toEqual([503, '30']);
  expect(await outcomes(1)).toEqual(['error']);
  const line = workerd.lines().at(-1);
  expect(line).toMatchObject({ step: 'delivery', source: 'broken', outcome: 'error', error: 'RangeError' });
  expect(line?.position).toMatch(/^Object\.custom \(worker:\d+:\d+\) < /);
  expect(JSON.stringify(workerd.lines())).not.toContain('canary');
});

it('a claim that Postgres does not answer is closed after its delivery was forwarded and answered', async () => {
  const { headers, body } = await signers.github('{"action":"opened"}', { secret: SECRET });
  const answer = await fetch(`http://127.0.0.1:${workerd.port}/webhooks/github`, { method: 'POST', headers, body });
  expect(await answer.json()).toEqual({ status: 'accepted' });
  // Before the 10 s after which a query ends by itself.
  await vi.waitFor(() => expect(requests).toEqual([{ closed: true }]), { timeout: 5000, interval: 50 });
});
