import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { WorkerKind } from '../../src/db/rights.ts';
import { standInVars, type WorkerConfig } from './config.ts';

/** Where the copies of the wrangler files are. Each has its own folder, because wrangler keeps the bundle beside it. */
const FOLDER = '.data/dev';

export interface LocalValues {
  /** What `.dev.vars` sets. */
  readonly devVars: Readonly<Record<string, string>>;
  readonly outsideUrl: string;
  /** Of the Worker's own role. The one in `.dev.vars` is the owner's. */
  readonly databaseUrl: string;
}

/**
 * A Worker's configuration as `npm run dev` runs it. wrangler reads a copy and never the file itself, so that a URL that
 * is added to the file while dev runs can't be called: the copy has the stand-in for the outside in its place.
 */
export function effectiveConfig(
  config: WorkerConfig,
  { devVars, outsideUrl, databaseUrl }: LocalValues,
): Record<string, unknown> {
  // Values of secrets are variables here: wrangler passes on no secret that `secrets.required` doesn't list.
  // dev runs the cron itself, and wrangler would warn that it doesn't. Names in the frames of errors stay readable
  // without `minify`.
  const { secrets: _secrets, triggers: _triggers, minify: _minify, ...raw } = config.raw;
  return {
    ...raw,
    main: resolve(dirname(config.path), config.main),
    vars: { ...config.vars, ...standInVars(config, outsideUrl), ...devVars, DATABASE_URL: databaseUrl },
  };
}

/** The consumer gets only what its file names, as in production: a handler never sees the secret of a source. */
export function onlyNamed(
  { vars, secrets }: WorkerConfig,
  devVars: Readonly<Record<string, string>>,
): Record<string, string> {
  const names = new Set([...Object.keys(vars), ...secrets]);
  return Object.fromEntries(Object.entries(devVars).filter(([name]) => names.has(name)));
}

export function pathOfCopy(worker: WorkerKind): string {
  return join(FOLDER, worker, 'wrangler.json');
}

/** True if the copy has changed. wrangler watches it, and reloads the Worker. */
export function writeCopy(worker: WorkerKind, config: Record<string, unknown>): boolean {
  const path = pathOfCopy(worker);
  const text = JSON.stringify(config, undefined, 2);
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    // It holds secrets.
    writeFileSync(path, text, { mode: 0o600 });
    return true;
  }
  const before = readFileSync(path, 'utf8');
  if (before.trimEnd() === text) return false;
  // In one write and never shorter, because wrangler may read it at any moment. Replacing the file by another one would
  // be simpler, but wrangler notices that only once or twice.
  const file = openSync(path, 'r+');
  writeSync(file, text.padEnd(Buffer.byteLength(before)));
  closeSync(file);
  return true;
}
