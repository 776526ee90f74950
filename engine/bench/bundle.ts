import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { CONFIGS, readConfig, type WorkerKind } from '../cli/config/worker-config.ts';
import { memoize } from '../src/shared/memoize.ts';
import { bundle as build } from '../workshop/bundle.ts';
import { FOLDER } from './folder.ts';

export interface Bundle {
  readonly script: string;
  readonly gzipped: number;
}

/** Builds a Worker as for a deploy, with the settings of a Worker's wrangler file. */
export function bundle(entry: string, worker: WorkerKind = 'receiver'): Bundle {
  return bundlerFor(worker)(entry);
}

/** Builds each entry once, because a build takes seconds. */
const bundlerFor = memoize((worker: WorkerKind) =>
  memoize((entry: string): Bundle => {
    const { raw } = readConfig(CONFIGS[worker]);
    const script = build(entry, raw, join(FOLDER, worker, entry.replaceAll(/\W+/g, '-')));
    return { script, gzipped: gzipSync(readFileSync(script)).length };
  }),
);
