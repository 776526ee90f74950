import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface TestResult {
  readonly file: string;
  readonly name: string;
  /** `error`: it failed, but at no assertion of its own. The code may not even have run. */
  readonly outcome: 'passed' | 'failed' | 'error';
}

export interface TestRun {
  /** Only the tests that ran. */
  readonly results: readonly TestResult[];
  /** What vitest printed, and the errors outside of tests. */
  readonly output: string;
}

/**
 * For a fault that keeps vitest itself from ending: every test has a time limit of its own. Without a fault, all of the
 * tests together take about two minutes on two cores, and ten on two that are very busy.
 */
const TIME_LIMIT_MS = 30 * 60_000;

/** Runs tests in a copy of the checkout. */
export async function runTests(folder: string, files: readonly string[], flags: readonly string[]): Promise<TestRun> {
  const report = join(folder, 'report.json');
  const options = ['--reporter=json', `--outputFile=${report}`, '--silent', ...flags];
  const vitest = ['node_modules/vitest/vitest.mjs', 'run', '-c', 'engine/test/vitest.config.ts'];
  const child = spawn(process.execPath, [...vitest, ...files, ...options], {
    cwd: folder,
    timeout: TIME_LIMIT_MS,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [, signal] = await once(child, 'close');
  if (signal) output += `\nended after ${TIME_LIMIT_MS / 1000} s (${signal})`;
  return existsSync(report) ? read(report, folder, output) : { results: [], output };
}

/** The parts of vitest's report that are read here. They have the form of Jest's. */
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

/** `expect.poll` and `expect(…).rejects` throw a plain error, and fast-check one that tells of the assertion. */
const ASSERTION =
  /^(AssertionError|Error: (expected|promise (resolved|rejected)) |Error: Property failed .*AssertionError)/s;

function read(file: string, folder: string, output: string): TestRun {
  const { testResults } = JSON.parse(readFileSync(file, 'utf8')) as Report;
  const results = testResults.flatMap(({ name: path, assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'passed' || status === 'failed')
      .map(({ fullName, status, failureMessages }): TestResult => {
        const isAssertion = failureMessages?.some((message) => ASSERTION.test(message)) ?? false;
        const outcome = status === 'passed' ? 'passed' : isAssertion ? 'failed' : 'error';
        return { file: path.slice(path.indexOf('engine/test/')), name: fullName, outcome };
      }),
  );
  const failures = testResults.flatMap(({ message, assertionResults }) => [
    message,
    ...assertionResults.flatMap(({ failureMessages }) => failureMessages ?? []),
  ]);
  return { results, output: [output.replaceAll(folder, ''), ...failures].join('\n').trim() };
}
