import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments } from '../cli/lib/arguments.ts';
import { UserError } from '../cli/lib/user-error.ts';
import { atMost } from '../src/shared/at-most.ts';
import { makeCopy } from './mutants/copy.ts';
import { mutants } from './mutants/list.ts';
import { type Mutant, misplaced } from './mutants/mutant.ts';
import { runTests, type TestRun } from './mutants/run-tests.ts';

/** Most tests wait for Postgres or for a process to start. One run more than there are cores uses that time. */
const AT_ONCE = availableParallelism() + 1;

/** What one fault may add to the output. The end of it says what failed. */
const MAX_OUTPUT = 3000;

/**
 * Puts each fault of the list into a copy of this checkout, and runs the tests there of which one must fail. Words after the
 * command choose the mutants whose sentence contains them.
 */
export default async function main(): Promise<void> {
  const { positionals } = readArguments({ words: Number.POSITIVE_INFINITY });
  const words = positionals.join(' ');
  const chosen = mutants.filter(({ fault }) => fault.includes(words));
  if (chosen.length === 0) throw new UserError(`no mutant's sentence contains "${words}"`);
  const wrong = chosen.flatMap((mutant) => misplaced(mutant) ?? []);
  const repeated = chosen.filter(({ fault }, n) => chosen.findIndex((other) => other.fault === fault) < n);
  wrong.push(...repeated.map(({ fault }) => `two mutants are called "${fault}"`));
  if (wrong.length > 0) throw new UserError(wrong.join('\n'));

  const folder = mkdtempSync(join(tmpdir(), 'claimcheck-mutants-'));
  // Ctrl-C ends the tests too, because the terminal sends it to them as well.
  process.on('SIGINT', () => process.exit(130));
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
  const started = performance.now();
  await checkWithoutFault(chosen, join(folder, 'without'));
  const caught = await atMost(AT_ONCE, [...chosen.entries()], ([n, mutant]) => isCaught(mutant, join(folder, `${n}`)));
  const count = caught.filter(Boolean).length;
  console.log(`${count} of ${chosen.length} faults caught in ${seconds(started)}`);
  if (count < chosen.length) throw new UserError('a fault that no test catches could be in the code already');
}

/** Without a fault every test must pass. Otherwise its failure would say nothing about the fault. */
async function checkWithoutFault(chosen: readonly Mutant[], folder: string): Promise<void> {
  const started = performance.now();
  makeCopy(folder);
  const files = [...new Set(chosen.flatMap(({ tests }) => tests))];
  const run = await runTests(folder, files, []);
  const problems = files.flatMap((file) => {
    const results = run.results.filter((result) => result.file === file);
    if (results.length === 0) return `${file} does not run`;
    return results
      .filter(({ outcome }) => outcome !== 'passed')
      .map(({ name }) => `${file}: "${name}" fails without a fault`);
  });
  if (problems.length > 0) throw new UserError([...problems, run.output.slice(-MAX_OUTPUT)].join('\n'));
  console.log(`without a fault, all of their tests pass (${seconds(started)})`);
}

async function isCaught(mutant: Mutant, folder: string): Promise<boolean> {
  const started = performance.now();
  makeCopy(folder, mutant);
  // Other copies run at the same time, and one failed test is enough.
  const run = await runTests(folder, mutant.tests, ['--bail=1', '--maxWorkers=1']);
  rmSync(folder, { recursive: true, force: true });
  const failed = run.results.find(({ outcome }) => outcome === 'failed');
  const [word, by] = failed ? ['caught', `${failed.file}: ${failed.name}`] : ['NOT CAUGHT', explain(run)];
  console.log(`${word.padEnd(10)} ${seconds(started).padStart(6)}  ${mutant.fault}\n${' '.repeat(19)}${by}`);
  return failed !== undefined;
}

function explain({ results, output }: TestRun): string {
  if (results.length > 0 && results.every(({ outcome }) => outcome === 'passed')) return 'its tests pass';
  return `its tests fail at no assertion, or do not run:\n${output.slice(-MAX_OUTPUT)}`;
}

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}
