import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Handlers, OutsideAnswer, Samples, Seed, Source } from '../../src/kit/index.ts';
import { UserError } from './user-error.ts';

// The app: every command runs in its root (claimcheck.mjs).

export type Sources = Readonly<Record<string, Source>>;

/** What takes the place of the real world on this machine. */
export interface AppSamples {
  readonly samples?: Samples;
  readonly answers?: OutsideAnswer;
  readonly seed?: Seed;
}

export async function loadSources(query = ''): Promise<Sources> {
  return (await importFromApp<{ sources: Sources }>(SOURCES, query)).sources;
}

export async function loadHandlers(): Promise<Handlers> {
  return (await importFromApp<{ handlers: Handlers }>('src/handlers/index.ts')).handlers;
}

/** An app without the file has the providers' samples alone. */
export async function loadSamples(query = ''): Promise<AppSamples> {
  return existsSync(SAMPLES) ? importFromApp<AppSamples>(SAMPLES, query) : {};
}

export const SOURCES = 'src/sources.ts';
export const SAMPLES = 'src/samples.ts';

/** Node imports a module only once. With another query it is another module. */
export const AGAIN = () => `?${Date.now()}`;

async function importFromApp<Exports>(file: string, query = ''): Promise<Exports> {
  if (!existsSync(file)) throw new UserError(`${file} is missing in ${resolve('.')}: an app has it`);
  try {
    return await import(pathToFileURL(resolve(file)).href + query);
  } catch (error) {
    throw new UserError(`${file} can't be loaded: ${(error as Error).message}`);
  }
}

/** Where a package is installed, or a program of one (`.bin/tsc`): here or in a folder above, as in a monorepo. */
export function folderOf(name: string): string {
  for (let folder = resolve('.'); ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name);
    if (existsSync(found)) return found;
    if (dirname(folder) === folder) throw new UserError(`the package ${name} is missing: run npm ci`);
  }
}

/** A program of a package, to be run by Node: a wrapper such as npx would end alone at a signal. */
export function programOf(name: string, program = name): string {
  const { bin } = createRequire(import.meta.url)(join(folderOf(name), 'package.json'));
  return join(folderOf(name), typeof bin === 'string' ? bin : bin[program]);
}
