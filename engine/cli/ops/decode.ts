import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, extname, join, relative, resolve } from 'node:path';
import { secretName, unseal } from '../../src/receiver/secrets.ts';
import { requireVar } from '../config/dev-vars.ts';
import {
  CONFIGS,
  listed,
  OFFLINE,
  readConfig,
  readConfigs,
  type WorkerConfig,
  wranglerArguments,
} from '../config/worker-config.ts';
import { programOf } from '../lib/app.ts';
import { UserError } from '../lib/user-error.ts';
import { WRONG_USAGE } from './api.ts';

// What a log line says in a form that nobody can read: `position` and `sealed`.

/** The places in the files of this checkout that the `position` of a log line names: the Worker is built again. */
export function placesOf(position = ''): string[] {
  // Wrangler names the bundle after the file that is built.
  const isIn = ({ main }: WorkerConfig) => position.includes(`${basename(main, extname(main))}.js:`);
  const worker = listed(readConfigs()).find(isIn);
  if (worker) return withBundle(worker, (bundle) => mapPosition(position, bundle));
  throw new UserError("position takes that of a log line, such as 'handle (consumer.js:120:9)'", WRONG_USAGE);
}

/** The secret that a provider has sent to a source with `awaitsSecret`. */
export async function unsealed([source, sealed]: readonly string[]): Promise<string> {
  if (!source || !sealed) throw new UserError('unseal takes a source, and "sealed" of the log line', WRONG_USAGE);
  const name = secretName(source);
  return unseal(sealed, requireVar(name)).catch(() => {
    throw new UserError(`the value was not encrypted with this ${name}, or it is not complete`);
  });
}

/** A frame of the log's `position`: `handle (consumer.js:120:9)`, or `consumer.js:120:9` if the function has no name. */
const FRAME = /^(?:(.*) \()?([^()\s]+):(\d+):(\d+)\)?$/;

/** Translates a `position` of the log into places in the files of this checkout. Other frames stay as they are. */
export function mapPosition(position: string, bundle: Bundle | undefined): string[] {
  return position.split(' < ').map((frame) => {
    const [, name, file, line, column] = FRAME.exec(frame) ?? [];
    if (!bundle || file !== bundle.name) return frame;
    const origin = bundle.map.findOrigin(Number(line), Number(column));
    if (!('fileName' in origin)) return frame;
    const place = `${relative('.', resolve(bundle.folder, origin.fileName))}:${origin.lineNumber}:${origin.columnNumber}`;
    return name ? `${name} (${place})` : place;
  });
}

/** A built Worker, as far as it is needed to find the places of its code. */
export interface Bundle {
  readonly folder: string;
  /** Wrangler names it after `main`: `consumer.js`. */
  readonly name: string;
  readonly map: SourceMap;
}

export function readBundle(folder: string): Bundle | undefined {
  const [mapFile] = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.js.map')) : [];
  if (mapFile === undefined) return undefined;
  const map = JSON.parse(readFileSync(join(folder, mapFile), 'utf8')) as ConstructorParameters<typeof SourceMap>[0];
  // esbuild writes the paths as in a URL: a folder ö is %C3%B6.
  return {
    folder,
    name: mapFile.slice(0, -'.map'.length),
    map: new SourceMap({ ...map, sources: map.sources.map((path) => decodeURIComponent(path)) }),
  };
}

/** Builds a Worker as a deploy does, only to read its source map, in a folder that is deleted afterwards. */
function withBundle<Result>(config: WorkerConfig, read: (bundle: Bundle | undefined) => Result): Result {
  const folder = mkdtempSync(join(tmpdir(), 'claimcheck-bundle-'));
  const args = ['deploy', '--dry-run', '--outdir', folder, ...wranglerArguments(config)];
  try {
    execFileSync(process.execPath, [programOf('wrangler'), ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, ...OFFLINE },
    });
    return read(readBundle(folder));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * For each file of src in a bundle the line where it begins, and for each line from there on the line of the file,
 * as the difference to the one before: what engine/src/consumer/app-lines.ts reads. With it the consumer can say in which line
 * an error was thrown, because Cloudflare maps the stacks only of errors that nobody catches.
 */
function appLines({ folder, name, map }: Bundle): string {
  const files = new Map<string, { start: number; lines: number[] }>();
  for (const [index, text] of readFileSync(join(folder, name), 'utf8').split('\n').entries()) {
    const entry = map.findEntry(index, text.search(/\S|$/));
    if (!('originalSource' in entry) || entry.generatedLine !== index) continue;
    const path = relative('.', resolve(folder, entry.originalSource)).replaceAll('\\', '/');
    if (!path.startsWith('src/')) continue;
    const file = files.get(path) ?? { start: index + 1, lines: [] };
    files.set(path, file);
    // A line without a mapping belongs to the one before.
    while (file.start + file.lines.length <= index) file.lines.push(file.lines.at(-1) ?? 0);
    file.lines.push(entry.originalLine + 1);
  }
  return [...files]
    .map(([path, { start, lines }]) => [path, start, ...lines.map((line, n) => line - (lines[n - 1] ?? 0))].join(' '))
    .join('; ');
}

/** Linux takes 128 KiB. An app of 30,000 lines needs less than this. */
const MAX_ARGUMENT = 100_000;

/** For a deploy of the consumer. In the way it is given, it moves no line of the bundle. */
export function defineAppLines(): readonly string[] {
  // A minified bundle is one long line.
  const consumer = readConfig(CONFIGS.consumer);
  if (consumer.raw.minify) return [];
  const lines = withBundle(consumer, (bundle) => (bundle ? appLines(bundle) : ''));
  return lines === '' || lines.length > MAX_ARGUMENT
    ? []
    : ['--define', `globalThis.APP_LINES:${JSON.stringify(lines)}`];
}

/** The bundle that `wrangler dev` keeps for the Worker whose configuration is in this folder. */
export function readDevBundle(configFolder: string): Bundle | undefined {
  const parent = join(configFolder, '.wrangler', 'tmp');
  const folders = existsSync(parent) ? readdirSync(parent).map((name) => join(parent, name)) : [];
  const changed = (folder: string) => statSync(folder).mtimeMs;
  // A killed process leaves its folder behind: the newest is the one in use.
  const [newest] = folders.sort((a, b) => changed(b) - changed(a));
  return newest === undefined ? undefined : readBundle(newest);
}
