import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { SourceMap } from 'node:module';
import { join, relative, resolve } from 'node:path';

/** A frame of the log's `position`: `handle (index.js:120:9)`, or `index.js:120:9` if the function has no name. */
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
  readonly name: string;
  readonly map: SourceMap;
}

/** Every Worker begins with an index.ts, so wrangler gives its bundle this name. */
const BUNDLE = 'index.js';

export function readBundle(folder: string): Bundle | undefined {
  const file = join(folder, `${BUNDLE}.map`);
  if (!existsSync(file)) return undefined;
  return { folder, name: BUNDLE, map: new SourceMap(JSON.parse(readFileSync(file, 'utf8'))) };
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
