import { UserError } from '../cli/lib/user-error.ts';
import { type Section, sectionLines, writeSection } from '../workshop/page-section.ts';
import { type MeasuredRatio, measure, RATIOS, type Ratio } from './aims.ts';
import { writePlot } from './plot.ts';
import { checkCosts } from './prices.ts';
import { type Results, readResults } from './results.ts';
import { overall, type Row } from './rows.ts';

const NOT_MEASURED = 'Not measured yet.';

const PAGE = { page: 'engine/bench/figures.md', command: 'npm run -w engine bench' };

/** What the page says about these results, by section. */
function sections(results: Results): { section: Section; lines: string[] }[] {
  const of = (name: string, lines: string[]) => ({ section: { ...PAGE, name }, lines });
  const parts = ['wait', 'ack', 'through', 'drain', 'footprint', 'growth', 'pruning', 'disk'];
  return [
    of('machine', [machineLine(results)]),
    of('ratios', ratioTable(results, [...RATIOS.default, ...RATIOS.long])),
    ...parts.map((part) => of(part, partTables(results, part))),
  ];
}

export function writeFigures(results: Results): void {
  for (const { section, lines } of sections(results)) writeSection(section, lines);
  writePlot(results);
}

/** Every figure in the page comes from engine/bench/results.json. */
export function checkFigures(): void {
  const results = readResults();
  if (!results) throw new UserError('there is no engine/bench/results.json: run npm run -w engine bench');
  checkCosts(results);
  for (const { section, lines } of sections(results)) {
    if (sectionLines(section).join('\n') !== lines.join('\n')) {
      throw new UserError(
        `the section "${section.name}" of ${section.page} is not what engine/bench/results.json says: run npm run -w engine bench -- --figures`,
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

function table(head: readonly string[], lines: readonly (readonly string[])[]): string[] {
  return [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`);
}

/** Three digits: the rounds differ by more than the fourth. */
function digits(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en', { maximumFractionDigits: 6 });
}
