import parsePrometheus from 'parse-prometheus-text-format';
import { beforeEach, describe, expect, it } from 'vitest';
import { useDatabase } from '../database.ts';
import { seed } from '../seed.ts';
import { access, startOpsWorker, TOKEN } from './start.ts';

const database = useDatabase();
const { sql } = database;

/** A minute after the cron, and in the middle between two of its runs. */
const AFTER_CRON = new Date('2026-03-10T12:01:00Z');
const BETWEEN = new Date('2026-03-10T12:08:00Z');
const later = (from: Date, seconds: number) => new Date(from.getTime() + seconds * 1000);

const start = (now: Date, env = {}) =>
  startOpsWorker({ now, env: { DATABASE_URL: database.stack.workerUrls.ops, OPS_TOKEN: TOKEN, ...env } });

const SNAPSHOT = 'claimcheck_snapshot_age_seconds';

let queries = 0;
beforeEach(async () => {
  await sql('delete from webhooks.events');
  queries = 0;
  database.stack.neon.fault = () => {
    queries++;
    return undefined;
  };
});

async function scrape(started: ReturnType<typeof start>, path = '/ops/metrics') {
  const response = await started.get(path);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const families = parsePrometheus(await response.text());
  return Object.fromEntries(families.map((family) => [family.name, family]));
}

describe('/ops/metrics', () => {
  it('is understood by a Prometheus client, and has what the database and the queues know', async () => {
    const at = later(AFTER_CRON, -600);
    const received = { received_at: at };
    const odd = 'odd "name"\\ of\na source';
    const done = (source: string, id: string, seconds: number, from = at) =>
      seed(database, { done: 1 }, { at: later(from, seconds), event: { source, event_id: id, received_at: from } });
    for (const source of ['stripe', odd]) await seed(database, { pending: 1 }, { at, event: { source, ...received } });
    const sent = { name: 'yesterday', sent_at: later(at, -86_400) };
    await seed(
      database,
      { parked: 1, effects: { pending: 1, parked: 1, sent: 1 } },
      { at, event: { ...received, finished_at: later(at, 3) } },
    );
    await seed(
      database,
      { ignored: 1, effects: { sent: 1 } },
      { at, event: { received_at: later(at, -86_400) }, effect: sent },
    );
    await done('stripe', 'b', 3);
    await done('stripe', 'c', 90);
    await done(odd, 'f', 700);
    await done('stripe', 'old', 3, later(at, -86_400));
    const started = start(AFTER_CRON);
    const families = await scrape(started);
    const values = (name: string) => families[name]?.metrics.map(({ labels, value }) => [labels, Number(value)]);
    expect(values('claimcheck_events_pending')).toEqual(
      expect.arrayContaining([
        [{ source: 'stripe' }, 1],
        [{ source: odd }, 1],
      ]),
    );
    expect(values('claimcheck_events_parked')).toEqual([[{ source: 'stripe' }, 1]]);
    expect(values('claimcheck_oldest_pending_age_seconds')).toContainEqual([{ source: 'stripe' }, 600]);
    // The parser drops the labels of a histogram, so its lines are compared as they are.
    expect(families.claimcheck_event_seconds?.type).toBe('HISTOGRAM');
    const text = await (await started.get('/ops/metrics')).text();
    const buckets = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2];
    const bounds = [0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 3600, 86_400, '+Inf'];
    const ofStripe = /^claimcheck_event_seconds_.*source="stripe"/;
    expect(text.split('\n').filter((line) => ofStripe.test(line))).toEqual([
      ...bounds.map((le, n) => `claimcheck_event_seconds_bucket{source="stripe",le="${le}"} ${buckets[n]}`),
      'claimcheck_event_seconds_sum{source="stripe"} 93',
      'claimcheck_event_seconds_count{source="stripe"} 2',
    ]);
    expect(values('claimcheck_effects')).toEqual(
      expect.arrayContaining([
        [{ status: 'pending' }, 1],
        [{ status: 'parked' }, 1],
        [{ status: 'sent' }, 1],
      ]),
    );
    expect(values('claimcheck_oldest_pending_effect_age_seconds')).toEqual([[undefined, 597]]);
    expect(values('claimcheck_queue_backlog_messages')).toEqual([
      [{ queue: 'events' }, 3],
      [{ queue: 'effects' }, 3],
    ]);
  });

  it('costs one query, however often it is scraped after the cron has woken the database', async () => {
    const started = start(AFTER_CRON);
    for (let n = 0; n < 5; n++) await scrape(started);
    expect(queries).toBe(1);
  });

  it('leaves a database alone that may be asleep, and says how old its numbers are', async () => {
    const started = start(BETWEEN);
    expect(Object.keys(await scrape(started))).toEqual([
      'claimcheck_queue_backlog_messages',
      'claimcheck_queue_backlog_bytes',
    ]);
    expect(queries).toBe(0);
    started.time.now = later(BETWEEN, 8 * 60);
    await scrape(started);
    expect(queries).toBe(1);
    // Six hours of scrapes without a delivery: one query for each run of the cron, and one more in its two minutes.
    for (let seconds = 0; seconds < 6 * 3600; seconds += 60) {
      started.time.now = later(AFTER_CRON, 86_400 + seconds);
      await scrape(started);
    }
    expect(queries).toBeLessThanOrEqual(1 + 2 * 24);
    started.time.now = later(started.time.now, 4 * 60);
    const { claimcheck_snapshot_age_seconds: age } = await scrape(started);
    expect(Number(age?.metrics[0]?.value)).toBeGreaterThan(60);
  });

  it('has fresh numbers at any time for whoever asks for them, but not more often than twice a minute', async () => {
    const started = start(BETWEEN);
    for (let n = 0; n < 3; n++) expect(await scrape(started, '/ops/metrics?fresh=1')).toHaveProperty(SNAPSHOT);
    for (const [seconds, wanted] of [
      [29, 1],
      [30, 2],
    ] as const) {
      started.time.now = later(BETWEEN, seconds);
      await scrape(started, '/ops/metrics?fresh=1');
      expect(queries).toBe(wanted);
    }
    // The numbers that are there anyway are shown to others too, with their age.
    started.time.now = later(BETWEEN, 90);
    const { [SNAPSHOT]: age } = await scrape(started);
    expect([queries, age?.metrics[0]?.value]).toEqual([2, '60']);
  });

  it('has fresh numbers at any time on the machine of a developer', async () => {
    const { call } = startOpsWorker({
      now: BETWEEN,
      env: { DATABASE_URL: database.stack.workerUrls.ops },
      access: access('local', { email: 'you@localhost' }),
    });
    expect(await (await call('/ops/metrics', {}, 'http://localhost:8787')).text()).toContain(SNAPSHOT);
  });
});
