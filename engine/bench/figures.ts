import { UserError } from '../cli/lib/user-error.ts';
import { type Section, sectionLines, writeSection } from '../workshop/page-section.ts';
import { measure, RATIOS, type Ratio } from './aims.ts';
import { costTable } from './prices.ts';
import { type Results, readResults, valuesOf } from './results.ts';
import { DISTANCES, LINE_ROW, overall, RATES, throughRow, WAITS, waitName, waitRow } from './rows.ts';

const COMMAND = 'npm run -w engine bench';

/** Names of contenders in the tables. Other contenders keep their own names. */
const NAMES: Readonly<Record<string, string>> = {
  claimcheck: 'Claimcheck',
  floor: 'the bare Worker',
  'floor again': 'the bare Worker, again',
};
const RECEIVERS = ['claimcheck', 'floor', 'floor again'];

/** The sections of the pages that contain results. */
function sections(results: Results): { section: Section; lines: string[] }[] {
  /** Several metrics of one variant in one cell. */
  const cell = (row: string, variant: string, ...metrics: string[]) =>
    metrics
      .map((metric) => {
        const values = valuesOf(results, { row, variant, metric });
        return values ? digits(overall(metric, values)) : 'not measured';
      })
      .join(' / ');
  const nameOf = (variant: string) => NAMES[variant] ?? variant.replace('claimcheck', 'Claimcheck');
  /** Table rows. The first column has the variant, and each other column a cell. Default: all measured variants. */
  const rows = (row: string, columns: readonly (readonly string[])[], variants = variantsOf(results, row)) =>
    variants.map((variant) => [nameOf(variant), ...columns.map((metrics) => cell(row, variant, ...metrics))]);

  const [first = 1] = DISTANCES;
  const wait = variantsOf(results, waitRow(first)).map((variant) => [
    nameOf(variant),
    ...DISTANCES.map((ms) => cell(waitRow(ms), variant, 'p50 ms', 'p99 ms')),
  ]);
  const ack = ['GitHub (replay key)', 'SendGrid (batch of 100)'].flatMap((source) =>
    ['new events', 'duplicates'].flatMap((what) =>
      rows(
        `ack, ${source}, ${what}`,
        [['deliveries/s'], ['p50 ms', 'p99 ms'], ['CPU ms per delivery'], ['CPU ms per delivery in Postgres']],
        RECEIVERS,
      ).map((cells) => [`${source}, ${what}`, ...cells]),
    ),
  );
  const drain = rows('drain of 10,000 events, 10 consumers', [
    ['events/s'],
    ['CPU ms per event'],
    ['CPU ms per event in Postgres'],
  ]);
  const coldStart = rows('cold start to the first answer', [['CPU ms'], ['ms']], ['claimcheck', 'floor']);
  const sizes = ['receiver', 'consumer', 'ops'].map((worker) => [worker, cell('bundle, gzipped', worker, 'KiB')]);
  const growth = ['1,000,000', '10,000,000'].flatMap((largest) =>
    variantsOf(results, `growth to ${largest} events, claim of an event`).map((size) => [
      size,
      ...['claim of an event', 'completion of an event, in batches of 100'].map((what) =>
        cell(`growth to ${largest} events, ${what}`, size, 'CPU ms per event in Postgres'),
      ),
      cell(`growth to ${largest} events, sweep of 1,000 overdue events`, size, 'ms'),
    ]),
  );
  const disk = rows(
    'bytes per event on disk',
    ['row in the ledger', 'its index entries', 'body, with its index', 'WAL'].map((what) => [`bytes: ${what}`]),
  );
  const scale: Readonly<Record<string, readonly string[]>> = {
    machine: [machineLine(results)],
    wait: table(['p50 / p99 in ms', ...DISTANCES.map((ms) => `Postgres ${ms} ms away`)], wait),
    ack: table(['deliveries of', 'to', 'a second', 'p50 / p99, ms', 'CPU ms', 'CPU ms in Postgres'], ack),
    through: table(
      [
        '',
        'at full speed, events/s',
        ...RATES.map((rate) => `${rate} a second: p50 / p99, ms`),
        'consumer runs per event',
      ],
      WAITS.map(waitName).map((variant) => [
        `\`${variant}\``,
        cell(throughRow(), variant, 'events/s'),
        ...RATES.map((rate) => cell(throughRow(rate), variant, 'p50 ms', 'p99 ms')),
        cell(throughRow(RATES[1]), variant, 'consumer runs per event'),
      ]),
    ),
    order: table(['', 'events/s'], rows(LINE_ROW, [['events/s']])),
    drain: table(['', 'events/s', 'CPU ms per event', 'CPU ms per event in Postgres'], drain),
    'cold start': table(['cold start to the first answer', 'CPU ms', 'ms'], coldStart),
    sizes: table(['Worker', 'KiB, compressed'], sizes),
    growth: table(['CPU ms in Postgres, in a ledger of', 'claim', 'completion', 'sweep of 1,000, ms'], growth),
    disk: table(['bytes per event', 'row in the ledger', 'its index entries', 'body, with its index', 'WAL'], disk),
    ratios: ratioTable(results, [...RATIOS.default, ...RATIOS.long]),
  };
  return [
    ...Object.entries(scale).map(([name, lines]) => ({
      section: { page: 'engine/bench/scale.md', name, command: COMMAND },
      lines: [...lines],
    })),
    {
      section: { page: 'docs/costs.md', name: 'costs', command: "the template's benchmark" },
      lines: costTable(results),
    },
  ];
}

export function writeFigures(results: Results): void {
  for (const { section, lines } of sections(results)) writeSection(section, lines);
}

/** Checks that the sections contain the figures of engine/bench/results.json. */
export function checkFigures(): void {
  const results = readResults();
  if (!results) throw new UserError('there is no engine/bench/results.json: run npm run -w engine bench');
  for (const { section, lines } of sections(results)) {
    if (sectionLines(section).join('\n') === lines.join('\n')) continue;
    throw new UserError(
      `the section "${section.name}" of ${section.page} is not what engine/bench/results.json says: run ${COMMAND} -- --figures`,
    );
  }
}

function variantsOf({ parts }: Results, row: string): string[] {
  const rows = Object.values(parts).flatMap((part) => part.rows);
  return [...new Set(rows.filter((one) => one.row === row).map(({ variant }) => variant))];
}

function machineLine({ machine, versions, parts }: Results): string {
  const days = [...new Set(Object.values(parts).map(({ measured }) => measured))].sort();
  const { postgres, workerd, node, ...peers } = versions;
  const others = Object.entries(peers).map(([name, version]) => `${name} ${version}`);
  return `Measured on ${days.join(', ')} on a machine with ${machine.cores} cores (${machine.cpu}, ${machine.memoryGiB} GiB, ${machine.system}), which Postgres, the Workers and the load generator share: PostgreSQL ${postgres}, workerd ${workerd}, Node ${node}, ${others.join(', ')}.`;
}

/** The table of ratios, for the console and the page. */
export function ratioTable(results: Results, ratios: readonly Ratio[]): string[] {
  const lines = ratios
    .flatMap((ratio) => measure(ratio, results) ?? [])
    .map(({ title, value, isChance, aim, met }) => [
      title,
      `${digits(value)}${isChance ? ' (no difference)' : ''}`,
      aim,
      met === undefined ? '' : met ? 'yes' : '**no**',
    ]);
  return table(['ratio', 'measured', 'aim', 'met'], lines);
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string[] {
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`);
}

/** Rounds to three digits, because rounds differ by more than the fourth digit. */
function digits(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en', { maximumFractionDigits: 6 });
}
