import { expect, it, vi } from 'vitest';
import type { Fault } from '../../cli/local/neon/endpoint.ts';
import type { Name } from '../signatures.ts';
import { charge, expectBalances } from './charges.ts';
import { useCloud, type Workerd } from './cloud.ts';
import { isLong, report, seed } from './form.ts';
import { percentile, sendAtRate } from './load.ts';
import { randomFrom } from './random.ts';

const cloud = useCloud({
  receiver: 'engine/test/fixture/wrangler.real-limits.toml',
  consumer: 'engine/test/faults/consumer.ts',
});
const random = randomFrom(seed);

const SECONDS = isLong ? 300 : 20;
const EVENTS_PER_SECOND = isLong ? 100 : 50;
/** Between two disasters: long enough that the one before is over, most of the time. */
const CALM_MS = 2500;
/** These kill the isolate of each batch that they are in. */
const POISON = isLong ? 10 : 2;
/** Half of a CPU took five minutes for everything. */
const QUIET_WITHIN_MS = 900_000;
/** Each event is delivered twice with this probability. */
const REPEATS = 0.2;
/** The share of Neon's answers that are errors. */
const NEON_ERRORS = 0.03;

const SOURCES: Name[] = ['stripe', 'standardwebhooks', 'github'];

/** Every shape in which Neon reports an error, and every way to get no answer. */
const ERRORS: Fault[] = [
  { kind: 'error', status: 400, code: '40001', message: 'could not serialize access due to concurrent update' },
  { kind: 'error', status: 400, code: '57P01', message: 'terminating connection due to administrator command' },
  { kind: 'error', status: 400, code: '08P01', message: 'Query cancelled, connection was terminated' },
  { kind: 'error', status: 400, code: '', message: "password authentication failed for user 'receiver'" },
  { kind: 'error', status: 413, code: '', message: 'request is too large (max is 67108864 bytes)' },
  { kind: 'error', status: 507, code: '', message: 'response is too large (max is 67108864 bytes)' },
  { kind: 'error', status: 500, code: '53300', message: 'sorry, too many clients already' },
  { kind: 'connection died' },
  { kind: 'server error' },
  { kind: 'server error', message: 'Too many connections to this endpoint' },
  { kind: 'server error', message: 'Your project has exceeded the compute time quota' },
  { kind: 'not JSON' },
  { kind: 'not JSON', status: 400 },
  { kind: 'not JSON', status: 502 },
  { kind: 'reply dropped' },
  { kind: 'refused' },
  { kind: 'slow', ms: 1700 },
];

const chance = (probability: number) => random() < probability;
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

it(
  'no event is lost or doubled under load, while Postgres and workerd are killed, Neon fails and handlers throw',
  async () => {
    const { stack, queues, sql } = cloud;
    const workerd = await cloud.start();
    queues.consume = workerd.consume;
    const counts = { 'errors of Neon': 0, 'Postgres killed': 0, 'Postgres stopped': 0, 'workerd killed': 0 };
    stack.neon.fault = () => {
      if (!chance(NEON_ERRORS)) return undefined;
      counts['errors of Neon']++;
      return ERRORS[counts['errors of Neon'] % ERRORS.length];
    };
    stack.outside.answer = () => {
      if (chance(0.1)) return new Response(null, { status: 503, headers: { 'retry-after': '1' } });
      return new Response(null, { status: chance(0.1) ? 500 : 200 });
    };

    const load = sendAtRate(EVENTS_PER_SECOND, SECONDS, (n) => ({
      times: chance(REPEATS) ? 2 : 1,
      // Signed again at each try, as providers do, because a signature grows stale.
      send: () => workerd.deliver(SOURCES[n % SOURCES.length] ?? 'stripe', charge(n), { id: `evt_${n}` }),
    }));
    for (let n = 0; n < POISON; n++) {
      await workerd.deliver('awardee', JSON.stringify({ n }), { id: `poison_${n}`, type: 'kills' });
    }
    await disasters(workerd, counts);
    const { answers, milliseconds, seconds } = await load;

    const events = EVENTS_PER_SECOND * SECONDS;
    await untilQuiet(workerd);
    const states = await sql('select status, count(*)::int as events from webhooks.events group by 1 order by 1');
    // A 200 was given for each of them, so a missing row is a lost event.
    expect(states).toEqual([
      { status: 'done', events },
      { status: 'parked', events: POISON },
    ]);
    await expectBalances(events, sql);
    const payloads = Map.groupBy(stack.outside.requests, ({ idempotencyKey }) => idempotencyKey);
    expect(payloads.size).toBe(events);
    expect([...payloads.values()].filter((calls) => new Set(calls.map(({ body }) => body)).size > 1)).toEqual([]);
    expect(new Set(answers.keys()).difference(new Set(['200', '503', 'no answer']))).toEqual(new Set());

    const figures = {
      'events offered per second': Math.round(events / SECONDS),
      'deliveries answered 200 per second': Math.round((answers.get('200') ?? 0) / seconds),
      'answer 200, median (ms)': percentile(milliseconds, 0.5),
      'answer 200, 99th percentile (ms)': percentile(milliseconds, 0.99),
      ...Object.fromEntries(Array.from(answers, ([answer, count]) => [`deliveries with ${answer}`, count])),
      'forwarded by the queue': queues.forwarded,
      ...counts,
      'events lost': 0,
      'events doubled': 0,
    };
    for (const [figure, value] of Object.entries(figures)) report('the real thing', { figure, value });
  },
  SECONDS * 1000 + QUIET_WITHIN_MS + 300_000,
);

/** One after the other. What is forwarded meanwhile is on the queue, which is outside of workerd. */
async function disasters(
  workerd: Workerd,
  counts: Record<'Postgres killed' | 'Postgres stopped' | 'workerd killed', number>,
): Promise<void> {
  const endPostgres = async (signal: 'SIGKILL' | 'SIGINT') => {
    await cloud.stack.postgres.halt(signal);
    counts[signal === 'SIGKILL' ? 'Postgres killed' : 'Postgres stopped']++;
    await pause(500 + random() * 2500);
    await cloud.stack.postgres.restart();
  };
  const killWorkerd = async () => {
    await workerd.kill();
    counts['workerd killed']++;
    await workerd.restart();
  };
  const kinds = [
    () => endPostgres('SIGKILL'),
    killWorkerd,
    () => endPostgres('SIGINT'),
    () => Promise.all([endPostgres('SIGKILL'), killWorkerd()]),
  ];
  const end = Date.now() + SECONDS * 1000;
  for (let n = 0; Date.now() + CALM_MS < end; n++) {
    await pause(CALM_MS);
    await kinds[n % kinds.length]?.();
  }
}

/** Waits until no event and no effect is pending. When the queues are empty, the sweep sends lost tickets again. */
async function untilQuiet(workerd: Workerd): Promise<void> {
  cloud.stack.neon.fault = undefined;
  cloud.stack.outside.answer = undefined;
  // The time is a parameter of the sweep, so each run can be hours after the one before.
  let hours = 1;
  await vi.waitFor(
    async () => {
      if (cloud.queues.unsettled === 0) {
        await workerd.tick(new Date(Date.now() + hours * 3_600_000));
        hours = Math.min(hours * 2, 128);
      }
      const [pending] = await cloud.sql<{ events: number; effects: number }>(`
        select (select count(*)::int from webhooks.events where status = 'pending') as events,
               (select count(*)::int from webhooks.effects where status = 'pending') as effects`);
      expect({ ...pending, messages: cloud.queues.unsettled }).toEqual({ events: 0, effects: 0, messages: 0 });
    },
    { timeout: QUIET_WITHIN_MS, interval: 1000 },
  );
}
