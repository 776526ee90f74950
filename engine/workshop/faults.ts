import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments } from '../cli/lib/arguments.ts';
import { UserError } from '../cli/lib/user-error.ts';
import { sectionsOf, writeSection } from './page-section.ts';

const LONG = 'npm run -w engine faults -- --long';

/** The page with the figures, which only the long form changes. */
const PAGE = { page: 'engine/workshop/evidence.md', command: LONG };

type Row = Readonly<Record<string, string | number>>;

/**
 * Runs the tests in engine/test/faults, or those whose paths contain one of the given words. The short form is for CI.
 * The long form tries everything, and writes its counts and measurements into the page.
 */
export default async function main(): Promise<void> {
  const { values, positionals: words } = readArguments({
    words: Number.POSITIVE_INFINITY,
    options: { long: { type: 'boolean', default: false }, seed: { type: 'string' } },
  });
  const { long } = values;
  // A new seed for each run, so that every run tries something new. It is printed, so that the run can be repeated.
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32));
  if (!Number.isSafeInteger(seed)) throw new UserError('the seed must be a whole number');
  const folder = mkdtempSync(join(tmpdir(), 'faults-'));
  try {
    const file = join(folder, 'figures');
    writeFileSync(file, '');
    const env = {
      ...process.env,
      FAULTS_FORM: long ? 'long' : 'short',
      FAULTS_SEED: String(seed),
      FAULTS_FIGURES: file,
    };
    // The long form's figures are published, and files that run concurrently would change the times.
    const options = ['-c', 'engine/test/vitest.config.ts', '--project=faults'];
    const args = ['run', ...options, ...(long ? ['--no-file-parallelism'] : []), ...words];
    const { status } = spawnSync('node_modules/.bin/vitest', args, { stdio: 'inherit', env });
    const figures = readFigures(file);
    for (const [section, rows] of figures) console.log([`\n${section}`, ...tableOf(rows)].join('\n'));
    console.log(
      `\nTo repeat this run: npm run -w engine faults --${long ? ' --long' : ''} --seed ${seed} ${words.join(' ')}`,
    );
    if (status !== 0) throw new UserError('a guarantee was violated: see above');
    if (long) publish(figures, words.length === 0, seed);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The figures that the tests have reported, by section. */
function readFigures(file: string): Map<string, Row[]> {
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const reported = lines.map((line) => JSON.parse(line) as { section: string; row: Row });
  const sections = Map.groupBy(reported, ({ section }) => section);
  return new Map(Array.from(sections, ([section, all]) => [section, all.map(({ row }) => row)]));
}

function publish(figures: ReadonlyMap<string, readonly Row[]>, isWholeRun: boolean, seed: number): void {
  const missing = sectionsOf(PAGE).filter((section) => !figures.has(section));
  if (isWholeRun && missing.length > 0) {
    throw new UserError(`no test reported the figures of ${PAGE.page}: ${missing.join(', ')}`);
  }
  const today = new Date().toISOString().slice(0, 10);
  const run = `Run of ${today} with seed ${seed}, on a machine with ${availableParallelism()} cores.`;
  for (const [name, rows] of figures) writeSection({ ...PAGE, name }, [run, '', ...tableOf(rows)]);
  console.log(`wrote ${PAGE.page}`);
}

/** All rows of a section have the same columns. */
function tableOf(rows: readonly Row[]): string[] {
  const [first = {}] = rows;
  const line = (cells: readonly (string | number)[]) =>
    `| ${cells.map((cell) => (typeof cell === 'number' ? cell.toLocaleString('en') : cell)).join(' | ')} |`;
  return [
    line(Object.keys(first)),
    line(Object.keys(first).map(() => '---')),
    ...rows.map((row) => line(Object.values(row))),
  ];
}
