import { readFileSync } from 'node:fs';

/** A deliberate fault in the code, and the test that must notice it. */
export interface Mutant {
  /** What the code does then, as a sentence. */
  readonly fault: string;
  readonly file: string;
  /** Occurs exactly once in the file. As short as possible, so that other changes of the file don't touch it. */
  readonly find: string;
  readonly replace: string;
  readonly caughtBy: NamedTest;
}

export interface NamedTest {
  readonly file: string;
  /** A part of the test's name, or of its `describe` and its name. If several tests have it, one of them must fail. */
  readonly name: string;
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
