import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { bundle as build } from '../scripts/local/bundle.ts';
import { CONSUMER_CONFIG, RECEIVER_CONFIG, readConfig } from '../scripts/local/config.ts';
import { once } from '../src/encoding/once.ts';
import { FOLDER } from './folder.ts';

export interface Bundle {
  readonly script: string;
  readonly gzipped: number;
}

/** Builds a Worker as it is deployed, with the settings of the receiver's or the consumer's wrangler file. */
export function bundle(entry: string, role: 'receiver' | 'consumer' = 'receiver'): Bundle {
  return bundlerFor(role)(entry);
}

/** Each is built once, because a build takes seconds. */
const bundlerFor = once((role: 'receiver' | 'consumer') =>
  once((entry: string): Bundle => {
    const { raw } = readConfig(role === 'receiver' ? RECEIVER_CONFIG : CONSUMER_CONFIG);
    const script = build(entry, raw, join(FOLDER, role, entry.replaceAll(/\W+/g, '-')));
    return { script, gzipped: gzipSync(readFileSync(script)).length };
  }),
);
