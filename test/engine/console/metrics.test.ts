import parsePrometheus from 'parse-prometheus-text-format';
import { beforeEach, describe, expect, it } from 'vitest';
import { claim } from '../../../src/db/claim.ts';
import { addDeliveries } from '../../../src/db/deliveries.ts';
import { DeliveryCounts } from '../../../src/receiver/counts.ts';
import { claimable } from '../claimable.ts';
import { useDatabase } from '../database.ts';
import { signers } from '../signatures.ts';
import { startConsole, TOKEN } from './receiver.ts';

const database = useDatabase();
const { sql } = database;

/** A minute after the cron, and in the middle between two of its runs. */
const AFTER_CRON = new Date('2026-03-10T12:01:00Z');
const BETWEEN = new Date('2026-03-10T12:08:00Z');
const later = (from: Date, seconds: number) => new Date(from.getTime() + seconds * 1000);

const start = (now: Date, env = {}) =>
  startConsole({ now, env: { DATABASE_URL: database.stack.workerUrls.receiver, OPS_TOKEN: TOKEN, ...env } });

let queries = 0;
beforeEach(async () => {
  await sql('truncate webhook_events, webhook_deliveries cascade');
  queries = 0;
  database.stack.neon.fault = () => {
    queries++;
    return undefined;
  };
});

async function scrape(started: ReturnType<typeof start>) {
  const response = await started.get('/ops/metrics');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  const families = parsePrometheus(await response.text());
  return Object.fromEntries(families.map((family) => [family.name, family]));
}

describe('/ops/metrics', () => {
  it('is understood by a Prometheus client, and has what the database and the queues know', async () => {
    const at = later(AFTER_CRON, -600);
    await claim(
      database.receiver,
      'stripe',
      ['a', 'b', 'c', 'd'].map((id) => claimable(id)),
      {},
      at,
    );
    await claim(database.receiver, 'odd "name"\\ of\na source', [claimable('e')], {}, at);
    await sql(`update webhook_events set status = 'parked' where event_id = 'a'`);
    await sql(
      `update webhook_events set status = 'done', finished_at = received_at + interval '3 s' where event_id = 'b'`,
    );
    await sql(
      `update webhook_events set status = 'done', finished_at = received_at + interval '90 s' where event_id = 'c'`,
    );
    await sql(
      `insert into webhook_effects (source, event_id, name, kind, payload, status, due_at, sent_at)
       values ('stripe', 'b', '1', 'k', '{}', 'sent', $1, $1), ('stripe', 'b', '2', 'k', '{}', 'parked', $1, null),
              ('stripe', 'b', '3', 'k', '{}', 'pending', $1, null)`,
      [at],
    );
    await addDeliveries(database.receiver, [{ source: 'stripe', outcome: 'accepted', count: 3 }]);
    await addDeliveries(database.receiver, [
      { source: 'stripe', outcome: 'accepted', count: 1 },
      { source: 'stripe', outcome: 'refused', count: 7 },
    ]);
    const started = start(AFTER_CRON);
    const families = await scrape(started);
    const values = (name: string) => families[name]?.metrics.map(({ labels, value }) => [labels, Number(value)]);
    expect(families.claimcheck_deliveries_total?.type).toBe('COUNTER');
    expect(values('claimcheck_deliveries_total')).toEqual([
      [{ source: 'stripe', outcome: 'accepted' }, 4],
      [{ source: 'stripe', outcome: 'refused' }, 7],
    ]);
    expect(values('claimcheck_events_pending')).toEqual(
      expect.arrayContaining([
        [{ source: 'stripe' }, 1],
        [{ source: 'odd "name"\\ of\na source' }, 1],
      ]),
    );
    expect(values('claimcheck_events_parked')).toEqual([[{ source: 'stripe' }, 1]]);
    expect(values('claimcheck_oldest_pending_age_seconds')).toContainEqual([{ source: 'stripe' }, 600]);
    // The parser drops the labels of a histogram, so its lines are compared as they are.
    expect(families.claimcheck_event_seconds?.type).toBe('HISTOGRAM');
    const text = await (await started.get('/ops/metrics')).text();
    const buckets = [0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2];
    const bounds = [0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 3600, 86_400, '+Inf'];
    expect(text.split('\n').filter((line) => line.startsWith('claimcheck_event_seconds_'))).toEqual([
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
    // A day of scrapes without a delivery: one query for each run of the cron, and one more in its two minutes.
    for (let seconds = 0; seconds < 86_400; seconds += 60) {
      started.time.now = later(AFTER_CRON, 86_400 + seconds);
      await scrape(started);
    }
    expect(queries).toBeLessThanOrEqual(1 + 2 * 96);
    started.time.now = later(started.time.now, 4 * 60);
    const { claimcheck_snapshot_age_seconds: age } = await scrape(started);
    expect(Number(age?.metrics[0]?.value)).toBeGreaterThan(60);
  });

  it('has new numbers at any time if a delivery has just used the database', async () => {
    const started = start(BETWEEN, { AWARDEE_WEBHOOK_SECRET: 'a'.repeat(32) });
    const { body, headers } = await signers.awardee('{"id":1}', { secret: 'a'.repeat(32) });
    expect((await started.call('/webhooks/awardee', { method: 'POST', body, headers })).status).toBe(200);
    queries = 0;
    expect(await scrape(started)).toHaveProperty('claimcheck_events_pending');
    expect(queries).toBe(1);
  });

  it('works without the queues', async () => {
    const EVENTS = { metrics: () => new Promise(() => {}) };
    const EFFECTS = {};
    const families = await scrape(start(AFTER_CRON, { EVENTS, EFFECTS }));
    expect(families).toHaveProperty('claimcheck_snapshot_age_seconds');
    expect(families).not.toHaveProperty('claimcheck_queue_backlog_messages');
  });
});

describe('DeliveryCounts', () => {
  it('are written once a minute, and counted again if that fails', async () => {
    const counts = new DeliveryCounts();
    const written: unknown[] = [];
    const flush = async (now: Date, fails = false) => {
      if (!counts.isTime(now)) return;
      await counts.flush(now, async (some) => {
        if (fails) throw new Error('Postgres is down');
        written.push(...some);
      });
    };
    counts.add('stripe', 'accepted', BETWEEN);
    await flush(later(BETWEEN, 59));
    expect(written).toEqual([]);
    counts.add('stripe', 'accepted', BETWEEN);
    counts.add('stripe', 'refused', BETWEEN);
    await flush(later(BETWEEN, 60), true);
    await flush(later(BETWEEN, 61));
    expect(written).toEqual([]);
    await flush(later(BETWEEN, 121));
    expect(written).toEqual([
      { source: 'stripe', outcome: 'accepted', count: 2 },
      { source: 'stripe', outcome: 'refused', count: 1 },
    ]);
    await flush(later(BETWEEN, 181));
    expect(written).toHaveLength(2);
  });

  it('of a receiver reach the database with a delivery, a minute later', async () => {
    const started = start(BETWEEN, { AWARDEE_WEBHOOK_SECRET: 'a'.repeat(32) });
    const working: Promise<unknown>[] = [];
    const send = async (body: string, secret = 'a'.repeat(32)) => {
      const signed = await signers.awardee(body, { secret });
      const context = { waitUntil: (work: Promise<unknown>) => working.push(work), passThroughOnException() {} };
      await started.call('/webhooks/awardee', { method: 'POST', ...signed }, undefined, context as never);
    };
    await send('{"id":1}');
    await send('{"id":2}', 'b'.repeat(32));
    started.time.now = later(BETWEEN, 60);
    await send('{"id":3}', 'b'.repeat(32));
    await Promise.all(working);
    expect(await sql('select * from webhook_deliveries')).toEqual([]);
    await send('{"id":4}');
    await Promise.all(working);
    expect(await sql('select source, outcome, count::int from webhook_deliveries order by outcome')).toEqual([
      { source: 'awardee', outcome: 'accepted', count: 2 },
      { source: 'awardee', outcome: 'refused', count: 2 },
    ]);
  });
});
