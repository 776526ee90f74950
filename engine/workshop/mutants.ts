import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments } from '../cli/lib/arguments.ts';
import { UserError } from '../cli/lib/user-error.ts';
import { atMost } from '../src/shared/at-most.ts';
import { copyWithEngine } from './checkout.ts';
import { type Mutant, mutants } from './mutant-list.ts';

/** Most tests wait for Postgres or a starting process, so one more run than there are cores uses that time. */
const AT_ONCE = availableParallelism() + 1;

/** Needed for faults that keep vitest itself from ending. All tests together take minutes. */
const TIME_LIMIT_MS = 30 * 60_000;

/** How much of a fault's output is printed. The end says what failed. */
const MAX_OUTPUT = 3000;

/**
 * Matches a failed assertion. `expect.poll` and `expect(…).rejects` throw a plain error, and fast-check one that quotes
 * the assertion.
 */
const ASSERTION =
  /^(AssertionError|Error: (expected|promise (resolved|rejected)) |Error: Property failed .*AssertionError)/s;

/** The files that the engine's tests need besides the engine. */
const COPIED = [
  ...['src', 'test', 'drizzle', 'docs', 'wrangler.toml', 'wrangler.consumer.toml', 'wrangler.ops.toml'],
  ...['package.json', 'package-lock.json', 'tsconfig.json', 'vitest.config.ts', 'drizzle.config.ts'],
];

/**
 * Puts each fault of the list into a copy of this checkout and runs its tests, of which at least one must fail. Words
 * after the command choose the faults whose sentences contain them.
 */
export default async function main(): Promise<void> {
  const { positionals } = readArguments({ words: Number.POSITIVE_INFINITY });
  const words = positionals.join(' ');
  const chosen = mutants.filter(({ fault }) => fault.includes(words));
  if (chosen.length === 0) throw new UserError(`no mutant's sentence contains "${words}"`);
  const wrong = chosen.flatMap((mutant) => misplaced(mutant) ?? []);
  if (wrong.length > 0) throw new UserError(wrong.join('\n'));

  const folder = mkdtempSync(join(tmpdir(), 'claimcheck-mutants-'));
  // The terminal also sends Ctrl-C to the tests, which then end.
  process.on('SIGINT', () => process.exit(130));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const started = performance.now();
  await checkWithoutFault(chosen, join(folder, 'without'));
  const caught = await atMost(AT_ONCE, [...chosen.entries()], ([n, mutant]) => isCaught(mutant, join(folder, `${n}`)));
  const count = caught.filter(Boolean).length;
  console.log(`${count} of ${chosen.length} faults caught in ${seconds(started)}`);
  if (count < chosen.length) throw new UserError('some faults were not caught by any test');
}

/** Says why a fault can't be put into its file. `undefined` if it can. */
function misplaced({ fault, file, find }: Mutant): string | undefined {
  const count = readFileSync(file, 'utf8').split(find).length - 1;
  if (count === 1) return undefined;
  return `${file} contains ${JSON.stringify(find)} ${count} times instead of once: adapt the mutant "${fault}"`;
}

/** Checks that every test passes without a fault. Otherwise its failure would prove nothing. */
async function checkWithoutFault(chosen: readonly Mutant[], folder: string): Promise<void> {
  const started = performance.now();
  copyWithEngine(folder, COPIED);
  const files = [...new Set(chosen.flatMap(({ tests }) => tests))];
  const { tests, output } = await runTests(folder, files, []);
  const problems = [
    ...files.filter((file) => !tests.some((test) => test.file === file)).map((file) => `${file} does not run`),
    ...tests.filter(({ status }) => status === 'failed').map(({ name }) => `"${name}" fails without a fault`),
  ];
  if (problems.length > 0) throw new UserError([...problems, output.slice(-MAX_OUTPUT)].join('\n'));
  console.log(`without a fault, all of their tests pass (${seconds(started)})`);
}

/** A test must fail at an assertion, because otherwise the code may not even have run. */
async function isCaught({ fault, file, find, replace, tests: files }: Mutant, folder: string): Promise<boolean> {
  const started = performance.now();
  copyWithEngine(folder, COPIED);
  const path = join(folder, file);
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace(find, () => replace),
  );
  // Other copies run at the same time, so use one worker. One failed test is enough.
  const { tests, output } = await runTests(folder, files, ['--bail=1', '--maxWorkers=1']);
  rmSync(folder, { recursive: true, force: true });
  const by = tests.find(({ failures }) => failures.some((message) => ASSERTION.test(message)));
  const passes = tests.length > 0 && tests.every(({ status }) => status === 'passed');
  const why = passes
    ? 'its tests pass'
    : `its tests fail at no assertion, or do not run:\n${output.slice(-MAX_OUTPUT)}`;
  const took = seconds(started).padStart(6);
  console.log(
    `${by ? 'caught    ' : 'NOT CAUGHT'} ${took}  ${fault}\n${' '.repeat(19)}${by ? `${by.file}: ${by.name}` : why}`,
  );
  return by !== undefined;
}

/** The used parts of vitest's report, which has Jest's format. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[] | null;
    }[];
  }[];
}

/** Runs tests in a copy of the checkout, and returns their results and vitest's output. */
async function runTests(folder: string, files: readonly string[], flags: readonly string[]) {
  const file = join(folder, 'report.json');
  const options = ['--reporter=json', `--outputFile=${file}`, '--silent', ...flags];
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '-c', 'engine/test/vitest.config.ts'];
  const child = spawn(process.execPath, [...vitest, ...files, ...options], { cwd: folder, timeout: TIME_LIMIT_MS });
  const output: string[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(`${chunk}`));
  await once(child, 'close');
  const report: Report = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { testResults: [] };
  const tests = report.testResults.flatMap(({ name, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ fullName, status, failureMessages }) => ({
        file: name.slice(name.indexOf('engine/test/')),
        name: fullName,
        status,
        failures: failureMessages ?? [],
      })),
  );
  const messages = report.testResults.map(({ message }) => message);
  return { tests, output: [...output, ...messages, ...tests.flatMap(({ failures }) => failures)].join('\n').trim() };
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
