import { BUCKETS, loadMetrics, type Measurement } from '../db/status.ts';
import type { OpsBindings, Queue } from '../shared/runtime.ts';
import { withTimeLimit } from '../shared/time-limit.ts';
import { openOpsDatabase } from './api.ts';

/** The cron of wrangler.consumer.toml. It wakes the database every 15 minutes, and a scrape may then use it too. */
const CRON_EVERY_MS = 15 * 60_000;

/** Scrapers come once a minute, so at least one scrape comes within this time after the cron. */
const AFTER_CRON_MS = 2 * 60_000;

/** Two scrapers, or one that scrapes every few seconds, cost no more than one query in this time. */
const QUERY_EVERY_MS = 30_000;

/** A queue that doesn't answer must not make the scrape fail: its numbers are left out. */
const QUEUE_TIMEOUT_MS = 1000;

interface Sample {
  /** A histogram has samples of several names. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * The numbers of /ops/metrics. A scrape must not wake a sleeping database, and this Worker doesn't see the deliveries
 * that keep it awake. So a scrape asks Postgres only in the two minutes after the cron has woken it. At other times it
 * gets the numbers of the last query, whose age is one of the metrics. `?fresh=1` asks Postgres at any time.
 */
export class Metrics {
  static readonly contentType = 'text/plain; version=0.0.4; charset=utf-8';
  #snapshot: { readonly at: Date; readonly measurements: readonly Measurement[] } | undefined;

  async text(env: OpsBindings, now: Date, isFresh: boolean): Promise<string> {
    const backlogs = Promise.all([backlogOf('events', env.EVENTS), backlogOf('effects', env.EFFECTS)]);
    const isOld = this.#snapshot === undefined || now.getTime() - this.#snapshot.at.getTime() >= QUERY_EVERY_MS;
    if (isOld && (isFresh || now.getTime() % CRON_EVERY_MS < AFTER_CRON_MS)) {
      this.#snapshot = { at: now, measurements: await loadMetrics(openOpsDatabase(env), now) };
    }
    const fromPostgres = this.#snapshot ? metricsOf(this.#snapshot.measurements, this.#snapshot.at, now) : [];
    return [...fromPostgres, ...metricsOfQueues((await backlogs).flat())].join('');
  }
}

function metricsOf(measurements: readonly Measurement[], at: Date, now: Date): string[] {
  const named = (name: Measurement['name']) => measurements.filter((one) => one.name === name);
  const bySource = (name: Measurement['name']) =>
    named(name).map(({ source, value }) => ({ labels: { source: source ?? '' }, value }));
  const age = (since: number) => Math.max(0, now.getTime() / 1000 - since);
  const oldest = bySource('oldest_pending_at').map(({ labels, value }) => ({ labels, value: age(value) }));
  const reconciled = bySource('reconciled_until').map(({ labels, value }) => ({ labels, value: age(value) }));
  const oldestEffect = named('oldest_pending_effect_at').map(({ value }) => ({ value: age(value) }));
  const effects = named('effects').map(({ label, value }) => ({ labels: { status: label ?? '' }, value }));
  const paused = named('paused').map(({ source, label, value }) => ({
    labels: { kind: source ?? '', host: label ?? '' },
    value,
  }));
  const seconds = named('seconds_sum').flatMap(({ source, value }) =>
    histogram(source ?? '', value, named('seconds_bucket')),
  );
  return [
    family('snapshot_age_seconds', 'Age of the numbers that come from Postgres', [{ value: age(at.getTime() / 1000) }]),
    family('events_pending', 'Pending events', bySource('pending')),
    family('events_parked', 'Parked events', bySource('parked')),
    family('oldest_pending_age_seconds', 'Age of the oldest pending event', oldest),
    family('event_seconds', 'From received to done, of the events received in the last day', seconds, 'histogram'),
    family('effects', 'Effects by status, those that are sent in the last day only', effects),
    family('oldest_pending_effect_age_seconds', 'Since the event of the oldest pending effect was done', oldestEffect),
    family('reconciled_age_seconds', 'All that the provider sent before is here', reconciled),
    family('events_found_missing', 'Events that never arrived, found in the last day', bySource('found_missing')),
    family('effects_paused', 'Effects that wait because their kind, or the host that they call, is paused', paused),
  ];
}

/** Each bucket counts the events of all buckets before it as well. */
function histogram(source: string, sum: number, buckets: readonly Measurement[]): Sample[] {
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

async function backlogOf(name: string, queue: Queue) {
  // Some versions of the local simulation don't have `metrics`.
  const asked = (async () => queue.metrics())().catch(() => undefined);
  const metrics = await withTimeLimit(QUEUE_TIMEOUT_MS, asked, () => undefined);
  return metrics ? [{ labels: { queue: name }, messages: metrics.backlogCount, bytes: metrics.backlogBytes }] : [];
}

function metricsOfQueues(backlogs: Awaited<ReturnType<typeof backlogOf>>): string[] {
  const messages = backlogs.map(({ labels, messages: value }) => ({ labels, value }));
  const bytes = backlogs.map(({ labels, bytes: value }) => ({ labels, value }));
  return [
    family('queue_backlog_messages', 'Messages that wait on a queue', messages),
    family('queue_backlog_bytes', 'Their size', bytes),
  ];
}

/** One metric in the text format of Prometheus, version 0.0.4. Without samples it is left out. */
function family(name: string, help: string, samples: readonly Sample[], type = 'gauge'): string {
  if (samples.length === 0) return '';
  const full = `claimcheck_${name}`;
  const lines = samples.map(({ suffix = '', labels = {}, value }) => `${full}${suffix}${labelText(labels)} ${value}\n`);
  return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join('')}`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length > 0 ? `{${pairs.join(',')}}` : '';
}

/** The format knows these three escapes and no others. */
function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
