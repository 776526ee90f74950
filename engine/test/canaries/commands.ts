import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { learnVariables, search } from './canaries.ts';

/** Searches what a command printed in a checkout for the secrets that it was given and for those in `.dev.vars`. */
export function searchCommand(
  folder: string,
  env: Record<string, string>,
  args: readonly string[],
  printed: string,
): void {
  const file = join(folder, '.dev.vars');
  learnVariables(env);
  if (existsSync(file)) learnVariables(parseEnv(readFileSync(file, 'utf8')));
  // Like the console, `npm run ops -- show` shows an operator the body of one event.
  const showsBody = args[0] === 'ops' && args[1] === 'show';
  search(printed, `what ${args.join(' ')} printed`, showsBody ? ['body'] : []);
}
