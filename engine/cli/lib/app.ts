import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Handlers, OutsideAnswer, Samples, Seed, Source } from '../../src/kit/index.ts';
import { UserError } from './user-error.ts';

// Loads the app. Every command runs in the app's root (claimcheck.mjs).

export type Sources = Readonly<Record<string, Source>>;

/** Replaces the real world on this machine. */
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

/** Without the file, an app has only the providers' samples. */
export async function loadSamples(query = ''): Promise<AppSamples> {
  return existsSync(SAMPLES) ? importFromApp<AppSamples>(SAMPLES, query) : {};
}

export const SOURCES = 'src/sources.ts';
export const SAMPLES = 'src/samples.ts';

/** A query that makes Node import a module again. */
export const AGAIN = () => `?${Date.now()}`;

async function importFromApp<Exports>(file: string, query = ''): Promise<Exports> {
  if (!existsSync(file)) throw new UserError(`${file} is missing in ${resolve('.')}: an app has it`);
  try {
    return await import(pathToFileURL(resolve(file)).href + query);
  } catch (error) {
    throw new UserError(`${file} can't be loaded: ${(error as Error).message}`);
  }
}

/** The folder of a package or of a program (`.bin/tsc`), here or in a parent folder, as in a monorepo. */
export function folderOf(name: string): string {
  for (let folder = resolve('.'); ; folder = dirname(folder)) {
    const found = join(folder, 'node_modules', name);
    if (existsSync(found)) return found;
    if (dirname(folder) === folder) throw new UserError(`the package ${name} is missing: run npm ci`);
  }
}

/** The file of a package's program, to be run with Node. A wrapper such as npx would end without it at a signal. */
export function programOf(name: string, program = name): string {
  const { bin } = createRequire(import.meta.url)(join(folderOf(name), 'package.json'));
  return join(folderOf(name), typeof bin === 'string' ? bin : bin[program]);
}
