import { UserError } from '../scripts/lib/user-error.ts';
import { MAX_PRUNE_CHUNKS } from '../src/consumer/cron.ts';
import { PRUNE_CHUNK } from '../src/db/sweep.ts';
import { type Section, sectionLines, writeSection } from '../workshop/page-section.ts';
import { type MeasuredRatio, measure, RATIOS, type Ratio } from './aims.ts';
import { writePlot } from './plot.ts';
import { billLines, checkCosts } from './prices.ts';
import { figureOf, type Results, readResults } from './results.ts';
import { overall, type Row } from './rows.ts';

const NOT_MEASURED = 'Not measured yet.';

const PAGE = { page: 'bench/figures.md', command: 'npm run -w workshop bench' };

/** Messages per second that Cloudflare's queue accepts. */
const QUEUE_RATE = 5000;

/** What the page says about these results, by section. */
function sections(results: Results): { section: Section; lines: string[] }[] {
  const of = (name: string, lines: string[]) => ({ section: { ...PAGE, name }, lines });
  const parts = ['wait', 'ack', 'through', 'drain', 'footprint', 'growth', 'pruning', 'disk', 'operations'];
  return [
    of('machine', [machineLine(results)]),
    of('ratios', ratioTable(results, [...RATIOS.default, ...RATIOS.long])),
    ...parts.map((part) => of(part, partTables(results, part))),
    of('bill', billLines(results)),
    of('limits', limitLines(results)),
  ];
}

export function writeFigures(results: Results): void {
  for (const { section, lines } of sections(results)) writeSection(section, lines);
  writePlot(results);
}

/** Every figure in the page comes from bench/results.json. */
export function checkFigures(): void {
  const results = readResults();
  if (!results) throw new UserError('there is no bench/results.json: run npm run -w workshop bench');
  checkCosts(results);
  for (const { section, lines } of sections(results)) {
    if (sectionLines(section).join('\n') !== lines.join('\n')) {
      throw new UserError(
        `the section "${section.name}" of ${section.page} is not what bench/results.json says: run npm run -w workshop bench -- --figures`,
      );
    }
  }
}

function machineLine({ machine, versions, parts }: Results): string {
  const days = [...new Set(Object.values(parts).map(({ measured }) => measured))].sort();
  const { postgres, workerd, node, ...peers } = versions;
  const others = Object.entries(peers).map(([name, version]) => `${name} ${version}`);
  return `Measured on ${days.join(', ')} on a machine with ${machine.cores} cores (${machine.cpu}, ${machine.memoryGiB} GiB, ${machine.system}), which Postgres, the Workers and the load generator share: PostgreSQL ${postgres}, workerd ${workerd}, Node ${node}, ${others.join(', ')}.`;
}

/** As it is printed, and as it is on the page. */
export function ratioTable(results: Results, ratios: readonly Ratio[]): string[] {
  const found = ratios.flatMap((ratio) => measure(ratio, results) ?? []);
  const lines = found.map((ratio) => [
    ratio.title,
    `${digits(ratio.value)}${ratio.isChance ? ' (no difference)' : ''}`,
    ratio.rounds === 1 ? '' : `${digits(ratio.low)} to ${digits(ratio.high)}`,
    ratio.aim,
    verdictOf(ratio),
  ]);
  return table(['ratio', 'measured', 'by chance between', 'aim', 'met'], lines);
}

function verdictOf({ met }: MeasuredRatio): string {
  return met === undefined ? '' : met ? 'yes' : '**no**';
}

/** The rows of a part, and of its long form: a table for each set of metrics, a line for each variant. */
function partTables({ parts }: Results, name: string): string[] {
  const rows = [parts[name], parts[`long ${name}`]].flatMap((part) => part?.rows ?? []);
  if (rows.length === 0) return [NOT_MEASURED];
  const lines = Map.groupBy(rows, ({ row, variant }) => JSON.stringify([row, variant]));
  const tables = Map.groupBy(lines.values(), (line) => JSON.stringify(line.map(({ metric }) => metric)));
  return [...tables.values()].flatMap((all) => {
    const metrics = all[0]?.map(({ metric }) => metric) ?? [];
    return [...table(['', '', ...metrics], all.map(lineOf)), ''];
  });
}

function lineOf(line: readonly Row[]): string[] {
  const [first] = line;
  return [first?.row ?? '', first?.variant ?? '', ...line.map(({ metric, values }) => digits(overall(metric, values)))];
}

function limitLines(results: Results): string[] {
  const messages = figureOf(results, 'operations per event', 'delivery of a new event', 'queue messages');
  const claim = figureOf(
    results,
    'ack, GitHub (replay key), new events',
    'claimcheck',
    'CPU ms per delivery in Postgres',
  );
  const drain = 'drain of 10,000 events, 10 consumers';
  const work = figureOf(results, drain, 'claimcheck', 'CPU ms per event in Postgres');
  const perCore = 1000 / (claim + work);
  const bytes = (metric: string) =>
    figureOf(results, 'bytes per event on disk', 'body of 1 KB, replay key', `bytes: ${metric}`);
  const row = bytes('row in the ledger') + bytes('its index entries');
  const perDay = 86_400;
  const pruned = (PRUNE_CHUNK * MAX_PRUNE_CHUNKS * 4 * 24) / perDay;
  const pruning = figureOf(
    results,
    'ack, GitHub, 32 connections, new events, while 100,000 events are pruned',
    'with pruning',
    'pruned events/s',
  );
  const rate = 100;
  return table(
    ['limit', 'arithmetic', 'events per second'],
    [
      [
        'one queue',
        `Cloudflare accepts ${whole(QUEUE_RATE)} messages per second and queue; a new event is ${messages} message`,
        whole(QUEUE_RATE / messages),
      ],
      [
        'one Neon compute',
        `${claim.toFixed(2)} ms of CPU in Postgres for the claim, ${work.toFixed(2)} ms for the work of the sample's kind: 1000 / ${(claim + work).toFixed(2)}. A full queue needs ${(QUEUE_RATE / perCore).toFixed(1)} such cores`,
        `${whole(perCore)} for each core`,
      ],
      [
        'the consumer',
        '10 batches of 100 at a time, with Postgres and the consumer on the cores of this machine',
        whole(figureOf(results, drain, 'claimcheck', 'events/s')),
      ],
      [
        'pruning',
        `${whole(MAX_PRUNE_CHUNKS)} chunks of ${whole(PRUNE_CHUNK)} events every 15 minutes. The machine above deletes ${whole(pruning)} events per second while it claims`,
        `${whole(pruned)}, day and night`,
      ],
      [
        'one ledger',
        `${row.toFixed(0)} bytes per event for 30 days: ${rate} events per second are ${whole((rate * perDay * 30) / 1e6)} million rows and ${whole((rate * perDay * 30 * row) / 1e9)} GB. Neon allows 16 TB`,
        `measured up to ${largestLedger(results)} rows`,
      ],
    ],
  );
}

function largestLedger({ parts }: Results): string {
  return parts['long growth'] ? '10,000,000' : '1,000,000';
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string[] {
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`);
}

/** Three digits: the rounds differ by more than the fourth. */
function digits(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en', { maximumFractionDigits: 6 });
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}
