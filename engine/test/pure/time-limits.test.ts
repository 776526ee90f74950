// Every call to something that may hang, on a clock of our own: when does it end? A server, a queue and a sender that never
// answer are functions here, so that no test waits.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import deployed from '../../../src/consumer.ts';
import { handlers } from '../../../src/handlers/index.ts';
import { openAccount } from '../../cli/cloudflare/api.ts';
import { connect } from '../../cli/ops/api.ts';
import { sendAlerts } from '../../src/consumer/send-alerts.ts';
import { openDatabase, run } from '../../src/db/client.ts';
import { currentState, type Handler } from '../../src/kit/index.ts';
import { identityOf } from '../../src/ops/access.ts';
import { openOpsDatabase } from '../../src/ops/api.ts';
import { Metrics } from '../../src/ops/metrics.ts';
import { sendTickets } from '../../src/queue/tickets.ts';
import { sendOverdueTickets } from '../../src/receiver/claim-or-forward.ts';
import { atMost } from '../../src/shared/at-most.ts';
import type { LogLine } from '../../src/shared/log.ts';
import { withTimeLimit } from '../../src/shared/time-limit.ts';
import { sources } from '../fixture/sources.ts';
import { neonAnswer, startReceiver } from '../receiver/in-node.ts';
import { signers } from '../signatures.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const DATABASE_URL = 'postgres://user:password@db.example.com/database';
const never = () => new Promise<never>(() => {});

/** When the hanging begins. */
let since = 0;

/** A server that never answers: a call of it ends only by its signal. */
const hanging = (_url: unknown, init?: RequestInit) =>
  new Promise<Response>((_resolve, reject) => {
    since = Date.now();
    init?.signal?.addEventListener('abort', () => reject(init.signal?.reason));
  });

beforeEach(() => {
  vi.useFakeTimers({ now: NOW, toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  since = NOW.getTime();
  vi.stubGlobal('fetch', vi.fn(hanging));
  // The real one doesn't know of vitest's clock.
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    const limit = new AbortController();
    setTimeout(() => limit.abort(new DOMException('', 'TimeoutError')), ms);
    return limit.signal;
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

const turns = async (count: number) => {
  for (let n = 0; n < count; n++) await new Promise((resolve) => setImmediate(resolve));
};

/** After how many milliseconds it ends, and how. */
async function endOf(work: () => unknown): Promise<[ms: number, end: unknown]> {
  let end: unknown;
  Promise.resolve(work()).then(
    (value) => {
      end = [Date.now() - since, value];
    },
    (error: Error) => {
      end = [Date.now() - since, error.message || error.name];
    },
  );
  while (end === undefined && Date.now() - since < 120_000) {
    // Cryptography and streams take real time, and none of the clock.
    const began = performance.now();
    do await turns(20);
    while (end === undefined && vi.getTimerCount() === 0 && performance.now() - began < 10_000);
    if (vi.getTimerCount() === 0) break;
    await vi.advanceTimersByTimeAsync(500);
  }
  return end as [number, unknown];
}

const post = async (init: RequestInit, env: object) =>
  (await startReceiver({ sources, env: { GITHUB_WEBHOOK_SECRET: 'a secret', ...env } }).send('github', init)).status;
const signedPost = async (env: object) =>
  post(await signers.github('{}', { secret: 'a secret' }), { DATABASE_URL, ...env });
/** The first byte of a body, and nothing after it. */
const unfinished = () => new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(1)) });
const madeUp = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` };

/** The log line of an alert that Postgres has found, while its endpoint never answers. */
const alert = async () => {
  const row = {
    condition: 'silent',
    source: 'a',
    failure: '',
    state: 'begun',
    events: 0,
    effects: 0,
    since: NOW,
    oldest: NOW,
  };
  vi.mocked(fetch).mockResolvedValueOnce(neonAnswer(row));
  const lines: LogLine[] = [];
  const env = {
    DATABASE_URL,
    EVENTS_QUEUE: 'a-events',
    ALERT_WEBHOOK_URL: 'https://alerts.example.com',
  } as unknown as ConsumerEnv;
  await sendAlerts(env, NOW, (line) => lines.push(line));
  return lines[0];
};

/** What the deployed consumer records of the work of a ticket, while the other side never answers. */
const deployedWork = async (queue: 'events' | 'effects', ticket: object, row: object) => {
  const recorded: unknown[] = [];
  vi.mocked(fetch).mockImplementation(async (url, init) => {
    if (!String(url).endsWith('/sql')) return hanging(url, init);
    const { query, params } = JSON.parse(String(init?.body));
    if (query.includes('last_error')) recorded.push(...params);
    return neonAnswer(...(query.includes('last_error') ? [] : [{ ...row, ...ticket }]));
  });
  const message = { body: { version: 1, ...ticket }, attempts: 1, retry() {} };
  const batch = { queue, messages: [message] } as unknown as MessageBatch<unknown>;
  const queues = { EVENTS_QUEUE: 'events', EFFECTS_QUEUE: 'effects' };
  const env = { DATABASE_URL, ...queues, RECEIPTS_URL: 'https://receipts.example.com' };
  await deployed.queue(batch, env as unknown as ConsumerEnv);
  return JSON.stringify(recorded);
};
const PENDING = { status: 'pending', attempts: 0, notBefore: null };
const deployedHandler = () => {
  vi.spyOn(handlers.github?.push as Handler, 'handle').mockImplementation(never as Handler['handle']);
  const body = '{"repository":{"full_name":"a/b"}}';
  const row = { type: 'push', occurredAt: null, receivedAt: NOW, headers: null, body, hasBody: 'true', ...PENDING };
  return deployedWork('events', { source: 'github', eventId: 'evt_1' }, row);
};
const deployedEffect = () =>
  deployedWork(
    'effects',
    { source: 'stripe', eventId: 'evt_1', name: 'receipt' },
    { generation: '', kind: 'receipt', payload: '{}', ...PENDING },
  );

it.each<[what: string, ms: number, end: unknown, work: () => unknown]>([
  [
    'a query of the consumer',
    10_000,
    'Postgres did not answer in time',
    () => run(openDatabase(DATABASE_URL), { sql: 'select 1', params: [] }),
  ],
  [
    'a query of the ops Worker',
    5000,
    'Postgres did not answer in time',
    () => run(openOpsDatabase({ DATABASE_URL } as OpsEnv), { sql: 'select 1', params: [] }),
  ],
  [
    'the current state of a thing',
    10_000,
    'TimeoutError',
    () => currentState({ fetch, now: NOW }, 'https://example.com', {} as never),
  ],
  [
    'npm run ops',
    60_000,
    'https://ops.example.com did not answer within a minute',
    () => connect('https://ops.example.com').get('/status', {} as never),
  ],
  [
    "Cloudflare's API",
    60_000,
    "Cloudflare's API could not be reached: check the network, and run this again",
    async () => {
      for (const name of ['CLOUDFLARE_API_TOKEN', 'CLOUDFLARE_ACCOUNT_ID']) vi.stubEnv(name, 'x');
      return (await openAccount()).get('/queues');
    },
  ],
  [
    'a ticket',
    1000,
    false,
    () => sendTickets({ sendBatch: never } as unknown as Queue, [{ source: 'a', eventId: 'b' }]),
  ],
  [
    'a look-up of lost tickets',
    10_000,
    undefined,
    () => sendOverdueTickets('a', ['b'], { DATABASE_URL } as Env, NOW, () => {}),
  ],
  [
    'who is signed in',
    5000,
    expect.objectContaining({ outcome: 'known', who: 'access' }),
    () => identityOf(new Request('https://ops.example.com'), {}, { aud: 'app', getIdentity: never } as never),
  ],
  [
    'the queues of a scrape, of which one hangs and one has no metrics',
    1000,
    '',
    () =>
      new Metrics().text({ EVENTS: { metrics: never }, EFFECTS: {} } as never, new Date('2026-03-01T12:08Z'), false),
  ],
  [
    'an alert',
    10_000,
    expect.objectContaining({ outcome: 'not_sent', reason: expect.stringContaining('(TimeoutError)') }),
    alert,
  ],
  [
    'a handler of the deployed consumer',
    30_000,
    expect.stringMatching(/time_limit.*the handler took longer than 30 s/),
    deployedHandler,
  ],
  [
    'an effect of the deployed consumer',
    10_000,
    expect.stringMatching(/time_limit.*the effect took longer than 10 s/),
    deployedEffect,
  ],
  ['a claim, whose delivery is forwarded', 1500, 200, () => signedPost({ EVENTS: { send: async () => {} } })],
  ['a claim while the queue hangs too', 2500, 503, () => signedPost({ EVENTS: { send: never } })],
  [
    'a body that announces a small length',
    10_000,
    503,
    () => post({ body: unfinished(), headers: { ...madeUp, 'content-length': '2' } }, {}),
  ],
  ['a body in chunks', 10_000, 503, () => post({ body: unfinished(), headers: madeUp }, {})],
])('%s is waited for %i ms', async (_what, ms, end, work) => {
  expect(await endOf(work)).toEqual([ms, end]);
});

describe('work with a time limit', () => {
  it('ends with its own value or error if it is in time, and clears the timer', async () => {
    const late = vi.fn(() => 'late');
    expect(await withTimeLimit(1000, Promise.resolve('in time'), late)).toBe('in time');
    await expect(withTimeLimit(1000, Promise.reject(new Error('its own')), late)).rejects.toThrow('its own');
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(5000);
    expect(late).not.toHaveBeenCalled();
  });

  it('ends with the value or error of `late` if it is not in time', async () => {
    expect(await endOf(() => withTimeLimit(1500, never(), () => 'late'))).toEqual([1500, 'late']);
    const throws = () => {
      throw new Error('too late');
    };
    expect(await endOf(() => withTimeLimit(1500, never(), throws))).toEqual([3000, 'too late']);
  });
});

describe('a list of which at most three items are worked at a time', () => {
  it('starts the next item as soon as one ends, and returns results in the order of the list', async () => {
    let running = 0;
    let most = 0;
    const work = async (ms: number) => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, ms));
      running--;
      return ms;
    };
    const items = [3000, 500, 1000, 500, 500, 2000, 500];
    // Those after the first one take no longer than it, because two others work through them.
    expect(await endOf(() => atMost(3, items, work))).toEqual([3000, items]);
    expect(most).toBe(3);
    expect(await atMost(3, [], work)).toEqual([]);
  });

  it('fails if one of its items fails', async () => {
    const work = async (item: number) => {
      if (item === 2) throw new Error('the second');
    };
    await expect(atMost(3, [1, 2, 3], work)).rejects.toThrow('the second');
  });
});
