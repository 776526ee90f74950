import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { learnVariables, search } from './canaries.ts';

/** Searches what a command printed in a checkout for the secrets that it was given and for those in `.dev.vars`. */
export function searchCommand(folder: string, env: Record<string, string>, args: readonly string[], text: string): void {
  const file = join(folder, '.dev.vars');
  learnVariables(env);
  if (existsSync(file)) learnVariables(parseEnv(readFileSync(file, 'utf8')));
  search(text, `what ${args.join(' ')} printed`);
}
