import { readFileSync } from 'node:fs';

/** A deliberate fault in the code, which a test must notice. */
export interface Mutant {
  /** What the code does then, as a sentence. */
  readonly fault: string;
  readonly file: string;
  /** Occurs exactly once in the file. As short as possible, so that other changes of the file don't touch it. */
  readonly find: string;
  readonly replace: string;
  /** The test files of which one must notice it. */
  readonly tests: readonly string[];
}

type Fault = readonly [fault: string, find: string, replace: string];

/** Faults in one file. Its tests are named without their folder `test/engine` and without `.test.ts`. */
export function faultsIn(file: string, tests: readonly string[], faults: readonly Fault[]): Mutant[] {
  const paths = tests.map((name) => `engine/test/${name}.test.ts`);
  return faults.map(([fault, find, replace]) => ({ fault, file, find, replace, tests: paths }));
}

/** Why a fault can't be put into its file, in one sentence. `undefined` if it can. */
export function misplaced({ fault, file, find }: Mutant): string | undefined {
  const count = readFileSync(file, 'utf8').split(find).length - 1;
  if (count === 1) return undefined;
  return `${file} contains ${JSON.stringify(find)} ${count} times, and not once: adapt the mutant "${fault}"`;
}

export function withFault(text: string, { find, replace }: Mutant): string {
  return text.replace(find, () => replace);
}
