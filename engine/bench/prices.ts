import { figureOf, type Results } from './results.ts';

// US dollars. docs/costs.md lists the sources of the prices.
const WORKERS = {
  plan: 5,
  includedRequests: 10e6,
  perMillionRequests: 0.3,
  includedCpuMs: 30e6,
  perMillionCpuMs: 0.02,
};
/** An event is one message, which is written, read and deleted. */
const QUEUES = { operationsPerEvent: 3, includedOperations: 1e6, perMillionOperations: 0.4 };
const NEON = { perCuHour: 0.106, perGbMonth: 0.35, historyPerGbMonth: 0.2, historyDays: 7 };

/** Hours per month that Neon bills for a compute that never sleeps. */
const HOURS = 730;

/** The cron runs every 15 minutes. */
const CRON_RUNS = 30 * 24 * 4;

/** DEDUPE_DAYS and BODY_DAYS of wrangler.consumer.toml, as parts of a month. */
const LEDGER_MONTHS = 1;
const BODY_MONTHS = 7 / 30;

/** A monthly number of events, and its consequences. */
interface Volume {
  readonly title: string;
  readonly events: number;
  /** Whether the Free plans of Cloudflare and Neon are enough. */
  readonly isFree?: true;
  /** Events in a batch of the consumer. */
  readonly batch: 1 | 10;
  /** Neon's compute. */
  readonly cu: number;
}

const VOLUMES: readonly Volume[] = [
  { title: '1,000', events: 1e3, isFree: true, batch: 1, cu: 0.25 },
  // One event in 2.6 seconds.
  { title: 'a million', events: 1e6, batch: 1, cu: 0.25 },
  // 39 events a second, which need 4 % of a core in Postgres. 1 CU is enough for peaks of 24 times as many.
  { title: '100 million', events: 100e6, batch: 1, cu: 1 },
  { title: '100 million, with `max_batch_timeout = 1`', events: 100e6, batch: 10, cu: 1 },
];

interface Item {
  readonly what: string;
  readonly arithmetic: string;
  readonly dollars: (volume: Volume, effects: 0 | 1) => number;
}

/** The monthly costs with their calculation. */
export function costTable(results: Results): string[] {
  const items = itemsOf(results);
  const sums = (effects: 0 | 1) =>
    VOLUMES.map((volume) => `**${dollars(items.reduce((sum, item) => sum + paid(item, volume, effects), 0))}**`);
  const row = (...cells: string[]) => `| ${cells.join(' | ')} |`;
  return [
    row('US$ a month', 'arithmetic', ...VOLUMES.map(({ title }) => title)),
    row('---', '---', ...VOLUMES.map(() => '---')),
    ...items.map((item) => row(item.what, item.arithmetic, ...VOLUMES.map((volume) => dollars(paid(item, volume, 0))))),
    row('**sum**', 'without effects', ...sums(0)),
    row('**sum**', 'with an effect for each event: one more message, and one more run', ...sums(1)),
  ];
}

function paid({ dollars }: Item, volume: Volume, effects: 0 | 1): number {
  return volume.isFree ? 0 : dollars(volume, effects);
}

function itemsOf(results: Results): Item[] {
  const drain = (variant: string) =>
    figureOf(results, 'drain of 10,000 events, 10 consumers', variant, 'CPU ms per event');
  const ack = figureOf(results, 'ack, GitHub (replay key), new events', 'claimcheck', 'CPU ms per delivery');
  const work = { 1: drain('claimcheck, batches of 1'), 10: drain('claimcheck, batches of 10') };
  const bytes = (metric: string) =>
    figureOf(results, 'bytes per event on disk', 'body of 1 KB, replay key', `bytes: ${metric}`);
  const row = bytes('row in the ledger') + bytes('its index entries');
  const body = bytes('body, with its index');
  const wal = bytes('WAL');
  return [
    { what: 'Workers Paid plan', arithmetic: 'its minimum', dollars: () => WORKERS.plan },
    {
      what: 'Worker requests',
      arithmetic: `2 per event, or 1.1 in batches of ten; ${millions(WORKERS.includedRequests)} are included, then $${WORKERS.perMillionRequests.toFixed(2)} a million`,
      dollars: ({ events, batch }, effects) =>
        over(events * (1 + (1 + effects) / batch) + CRON_RUNS, WORKERS.includedRequests, WORKERS.perMillionRequests),
    },
    {
      what: 'Worker CPU time',
      arithmetic: `${(ack + work[1]).toFixed(1)} ms per event, or ${(ack + work[10]).toFixed(1)} in batches of ten, and as much again for an effect; ${millions(WORKERS.includedCpuMs)} ms are included, then $${WORKERS.perMillionCpuMs} a million`,
      dollars: ({ events, batch }, effects) =>
        over(events * (ack + work[batch] * (1 + effects)), WORKERS.includedCpuMs, WORKERS.perMillionCpuMs),
    },
    {
      what: 'Queue operations',
      arithmetic: `${QUEUES.operationsPerEvent} per event: write, read, delete; ${millions(QUEUES.includedOperations)} is included, then $${QUEUES.perMillionOperations.toFixed(2)} a million`,
      dollars: ({ events }, effects) =>
        over(
          events * QUEUES.operationsPerEvent * (1 + effects),
          QUEUES.includedOperations,
          QUEUES.perMillionOperations,
        ),
    },
    {
      what: 'Neon compute (Launch)',
      arithmetic: `${VOLUMES[1]?.cu} CU, the smallest, and 1 CU for 100 million, x ${HOURS} h x $${NEON.perCuHour}: it never sleeps`,
      dollars: ({ cu }) => cu * HOURS * NEON.perCuHour,
    },
    {
      what: 'Neon storage',
      arithmetic: `${whole(row)} bytes per event for 30 days, ${whole(body)} (a body of 1 KB) for 7, x $${NEON.perGbMonth} a GB`,
      dollars: ({ events }) => ((events * (row * LEDGER_MONTHS + body * BODY_MONTHS)) / 1e9) * NEON.perGbMonth,
    },
    {
      what: 'Neon history',
      arithmetic: `${whole(wal)} bytes of WAL per event, kept for ${NEON.historyDays} days, x $${NEON.historyPerGbMonth.toFixed(2)} a GB`,
      dollars: ({ events }) => ((events * wal * (NEON.historyDays / 30)) / 1e9) * NEON.historyPerGbMonth,
    },
  ];
}

function over(used: number, included: number, perMillion: number): number {
  return (Math.max(0, used - included) / 1e6) * perMillion;
}

function millions(count: number): string {
  return `${(count / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })} million`;
}

function dollars(amount: number): string {
  return amount.toFixed(2);
}

function whole(count: number): string {
  return Math.round(count).toLocaleString('en');
}
