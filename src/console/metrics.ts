import { BUCKETS, loadMetrics, type Measured } from '../db/metrics.ts';
import { openConsoleDatabase } from './api.ts';
import { exposition, type Metric } from './prometheus.ts';

/** The cron of wrangler.toml. It wakes the database every quarter of an hour, and scrapes may then use it too. */
const CRON_EVERY_MS = 15 * 60_000;

/** Scrapers come once a minute, so one of them comes in this time after the cron. A query keeps Neon awake as long. */
const AFTER_CRON_MS = 2 * 60_000;

/** A claim within this time has kept the database awake. Neon suspends it after five minutes. */
const AFTER_USE_MS = 60_000;

/** Two scrapers, or one that scrapes every few seconds, cost no more than one query in this time. */
const QUERY_EVERY_MS = 30_000;

/** A queue that doesn't answer must not make the scrape fail: its numbers are left out. */
const QUEUE_TIMEOUT_MS = 1000;

/**
 * The numbers of /ops/metrics. A scrape costs one query at most, and none while the database may be asleep: then it
 * answers with the numbers of the last query, whose age is one of the metrics.
 */
export class Metrics {
  #snapshot: { readonly at: Date; readonly measured: readonly Measured[] } | undefined;

  async text(
    env: ReceiverEnv,
    { now, databaseUsedAt, isLocal }: { now: Date; databaseUsedAt: Date | undefined; isLocal: boolean },
  ): Promise<string> {
    const backlogs = Promise.all([backlogOf('events', env.EVENTS), backlogOf('effects', env.EFFECTS)]);
    if (this.#isStale(now) && (isLocal || isAwake(now, databaseUsedAt))) {
      this.#snapshot = { at: now, measured: await loadMetrics(openConsoleDatabase(env), now) };
    }
    const fromPostgres = this.#snapshot ? metricsOf(this.#snapshot.measured, this.#snapshot.at, now) : [];
    return exposition([...fromPostgres, ...metricsOfQueues((await backlogs).flat())]);
  }

  #isStale(now: Date): boolean {
    return this.#snapshot === undefined || now.getTime() - this.#snapshot.at.getTime() >= QUERY_EVERY_MS;
  }
}

/** Whether the database is awake for another reason: the cron has just run, or a delivery has just been claimed. */
function isAwake(now: Date, usedAt: Date | undefined): boolean {
  const sinceUse = usedAt ? now.getTime() - usedAt.getTime() : Number.POSITIVE_INFINITY;
  return sinceUse < AFTER_USE_MS || now.getTime() % CRON_EVERY_MS < AFTER_CRON_MS;
}

function metricsOf(measured: readonly Measured[], at: Date, now: Date): Metric[] {
  const named = (name: Measured['name']) => measured.filter((one) => one.name === name);
  const bySource = (name: Measured['name']) =>
    named(name).map(({ source, value }) => ({ labels: { source: source ?? '' }, value }));
  const age = (since: number) => Math.max(0, now.getTime() / 1000 - since);
  return [
    {
      name: 'claimcheck_snapshot_age_seconds',
      type: 'gauge',
      help: 'Age of the numbers that come from Postgres',
      samples: [{ value: age(at.getTime() / 1000) }],
    },
    {
      name: 'claimcheck_deliveries_total',
      type: 'counter',
      help: 'Deliveries by outcome, added up once a minute',
      samples: named('deliveries').map(({ source, label, value }) => ({
        labels: { source: source ?? '', outcome: label ?? '' },
        value,
      })),
    },
    { name: 'claimcheck_events_pending', type: 'gauge', help: 'Pending events', samples: bySource('pending') },
    { name: 'claimcheck_events_parked', type: 'gauge', help: 'Parked events', samples: bySource('parked') },
    {
      name: 'claimcheck_oldest_pending_age_seconds',
      type: 'gauge',
      help: 'Age of the oldest pending event',
      samples: bySource('oldest_pending_at').map(({ labels, value }) => ({ labels, value: age(value) })),
    },
    {
      name: 'claimcheck_event_seconds',
      type: 'histogram',
      help: 'From received to done, of the events received in the last day',
      samples: named('seconds_sum').flatMap(({ source, value }) =>
        histogram(source ?? '', value, named('seconds_bucket')),
      ),
    },
    {
      name: 'claimcheck_effects',
      type: 'gauge',
      help: 'Effects by status, those that are sent in the last day only',
      samples: named('effects').map(({ label, value }) => ({ labels: { status: label ?? '' }, value })),
    },
    {
      name: 'claimcheck_oldest_pending_effect_age_seconds',
      type: 'gauge',
      help: 'Time since the event of the oldest pending effect was done',
      samples: named('oldest_pending_effect_at').map(({ value }) => ({ value: age(value) })),
    },
  ];
}

/** Each bucket counts the events of all buckets before it as well. */
function histogram(source: string, sum: number, buckets: readonly Measured[]): Metric['samples'] {
  const counts = new Map(
    buckets.filter((one) => one.source === source).map(({ label, value }) => [Number(label), value]),
  );
  let count = 0;
  const samples = [...BUCKETS, '+Inf'].map((bound, bucket) => {
    count += counts.get(bucket) ?? 0;
    return { suffix: '_bucket', labels: { source, le: String(bound) }, value: count };
  });
  return [
    ...samples,
    { suffix: '_sum', labels: { source }, value: sum },
    { suffix: '_count', labels: { source }, value: count },
  ];
}

interface Backlog {
  readonly queue: string;
  readonly messages: number;
  readonly bytes: number;
}

async function backlogOf(name: string, queue: Queue): Promise<Backlog[]> {
  const { promise: timeUp, resolve } = Promise.withResolvers<undefined>();
  const timer = setTimeout(() => resolve(undefined), QUEUE_TIMEOUT_MS);
  // Some versions of the local simulation don't have `metrics`.
  const asked = (async () => queue.metrics())().catch(() => undefined);
  const metrics = await Promise.race([asked, timeUp]).finally(() => clearTimeout(timer));
  return metrics ? [{ queue: name, messages: metrics.backlogCount, bytes: metrics.backlogBytes }] : [];
}

function metricsOfQueues(backlogs: readonly Backlog[]): Metric[] {
  const samples = (read: (backlog: Backlog) => number) =>
    backlogs.map((backlog) => ({ labels: { queue: backlog.queue }, value: read(backlog) }));
  return [
    {
      name: 'claimcheck_queue_backlog_messages',
      type: 'gauge',
      help: 'Messages that wait on a queue',
      samples: samples(({ messages }) => messages),
    },
    {
      name: 'claimcheck_queue_backlog_bytes',
      type: 'gauge',
      help: 'Their size',
      samples: samples(({ bytes }) => bytes),
    },
  ];
}
