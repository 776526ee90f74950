import { medianOf, type Results } from './results.ts';

const SOURCES =
  "Prices: Cloudflare's pages on [Workers](https://developers.cloudflare.com/workers/platform/pricing/) and [Queues](https://developers.cloudflare.com/queues/platform/pricing/), from copies that don't name their day, read on 2026-11-18; Neon's [plans](https://neon.com/docs/introduction/plans), as of 2026-11-12.";

// US dollars.
const WORKERS = {
  plan: 5,
  includedRequests: 10e6,
  perMillionRequests: 0.3,
  includedCpuMs: 30e6,
  perMillionCpuMs: 0.02,
};
const QUEUES = { operationsPerMessage: 3, includedOperations: 1e6, perMillionOperations: 0.4 };
const NEON = { perCuHour: 0.106, smallestCu: 0.25, perGbMonth: 0.35, historyPerGbMonth: 0.2, historyDays: 7 };

/** Hours in which Neon bills a compute that never sleeps. */
const HOURS = 730;

const EVENTS = 1e6;

/** The cron runs every 15 minutes. */
const CRON_RUNS = 30 * 24 * 4;

/** DEDUPE_DAYS and BODY_DAYS of wrangler.consumer.toml, as parts of a month. */
const LEDGER_MONTHS = 1;
const BODY_MONTHS = 7 / 30;

interface Item {
  readonly what: string;
  readonly arithmetic: string;
  readonly dollars: number;
}

/** What a million events a month cost, each with one effect or without, as a table with its arithmetic. */
export function billLines(results: Results): string[] {
  const tables = [false, true].flatMap((withEffect) => {
    const items = [...cloudflare(results, withEffect), ...neon(results)];
    const total = items.reduce((sum, { dollars }) => sum + dollars, 0);
    return [
      `A million events a month, ${withEffect ? 'each with one effect' : 'without effects'}:`,
      '',
      '| what | arithmetic | US$ a month |',
      '| --- | --- | --- |',
      ...items.map(({ what, arithmetic, dollars }) => `| ${what} | ${arithmetic} | ${dollars.toFixed(2)} |`),
      `| **sum** | | **${total.toFixed(2)}** |`,
      '',
    ];
  });
  return [...tables, SOURCES];
}

function cloudflare(results: Results, withEffect: boolean): Item[] {
  const operations = (variant: string, metric: string) => medianOf(results, 'operations per event', variant, metric);
  // A million a month is one event in 2.6 seconds: a batch rarely holds more than one.
  const invocations = withEffect ? 3 : 2;
  const requests = EVENTS * invocations + CRON_RUNS;
  const cpu =
    medianOf(results, 'ack, GitHub (replay key), 1 connection, new events', 'claimcheck', 'CPU ms per delivery') +
    medianOf(results, 'drain of 10,000 events, 10 consumers', 'claimcheck, batches of 1', 'CPU ms per event');
  const messages =
    operations('delivery of a new event', 'queue messages') +
    (withEffect ? operations('work, one by one', 'queue messages') : 0);
  const used = EVENTS * messages * QUEUES.operationsPerMessage;
  return [
    { what: 'Workers Paid plan', arithmetic: 'its minimum', dollars: WORKERS.plan },
    {
      what: 'Worker requests',
      arithmetic: `${millions(requests)} (${invocations} per event, and the cron), ${millions(WORKERS.includedRequests)} are included`,
      dollars: over(requests, WORKERS.includedRequests, WORKERS.perMillionRequests),
    },
    {
      what: 'Worker CPU time',
      arithmetic: `${cpu.toFixed(2)} ms per event${withEffect ? ', and about as much again for its effect' : ''}, ${millions(WORKERS.includedCpuMs)} ms are included`,
      dollars: over(EVENTS * cpu * (withEffect ? 2 : 1), WORKERS.includedCpuMs, WORKERS.perMillionCpuMs),
    },
    {
      what: 'Queue operations',
      arithmetic: `${messages} ${messages === 1 ? 'message' : 'messages'} per event x ${QUEUES.operationsPerMessage} (write, read, delete) = ${millions(used)}, less ${millions(QUEUES.includedOperations)} included, x $${QUEUES.perMillionOperations.toFixed(2)} a million`,
      dollars: over(used, QUEUES.includedOperations, QUEUES.perMillionOperations),
    },
  ];
}

function neon(results: Results): Item[] {
  const bytes = (metric: string) =>
    medianOf(results, 'bytes per event on disk', 'body of 1 KB, replay key', `bytes: ${metric}`);
  const row = bytes('row in the ledger') + bytes('its index entries');
  const body = bytes('body, with its index');
  const gb = (EVENTS * (row * LEDGER_MONTHS + body * BODY_MONTHS)) / 1e9;
  const historyGb = (EVENTS * bytes('WAL') * (NEON.historyDays / 30)) / 1e9;
  return [
    {
      what: 'Neon compute (Launch)',
      arithmetic: `${NEON.smallestCu} CU, the smallest, x ${HOURS} h x $${NEON.perCuHour}: events come too often for it to sleep`,
      dollars: NEON.smallestCu * HOURS * NEON.perCuHour,
    },
    {
      what: 'Neon storage',
      arithmetic: `${row.toFixed(0)} bytes per event for 30 days, ${body.toFixed(0)} (a body of 1 KB) for 7: ${gb.toFixed(2)} GB x $${NEON.perGbMonth}`,
      dollars: gb * NEON.perGbMonth,
    },
    {
      what: 'Neon history, for 7 days',
      arithmetic: `${bytes('WAL').toFixed(0)} bytes of WAL per event: ${historyGb.toFixed(2)} GB x $${NEON.historyPerGbMonth.toFixed(2)}`,
      dollars: historyGb * NEON.historyPerGbMonth,
    },
  ];
}

function over(used: number, included: number, perMillion: number): number {
  return (Math.max(0, used - included) / 1e6) * perMillion;
}

function millions(count: number): string {
  return `${(count / 1e6).toLocaleString('en', { maximumFractionDigits: 1 })} million`;
}
