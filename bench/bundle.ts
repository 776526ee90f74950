import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { CONSUMER_CONFIG, RECEIVER_CONFIG, readConfig } from '../scripts/local/config.ts';
import { OFFLINE } from '../scripts/local/offline.ts';
import { FOLDER } from './folder.ts';

export interface Bundle {
  readonly script: string;
  readonly bytes: number;
  readonly gzipped: number;
}

/** Builds a Worker as `wrangler deploy` does, with the settings of the receiver's or the consumer's wrangler file. */
export function bundle(entry: string, role: 'receiver' | 'consumer' = 'receiver'): Bundle {
  const name = entry.replaceAll(/\W+/g, '-');
  const { compatibility_date, minify } = readConfig(role === 'receiver' ? RECEIVER_CONFIG : CONSUMER_CONFIG).raw;
  const config = join(FOLDER, `${name}.json`);
  writeFileSync(config, JSON.stringify({ name: 'bench', main: resolve(entry), compatibility_date, minify }));
  const out = join(FOLDER, name);
  const build = ['node_modules/wrangler/bin/wrangler.js', 'deploy', '--dry-run', '--outdir', out, '-c', config];
  execFileSync(process.execPath, build, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...OFFLINE },
  });
  const script = join(out, readdirSync(out).find((file) => file.endsWith('.js')) ?? '');
  const code = readFileSync(script);
  return { script, bytes: code.length, gzipped: gzipSync(code).length };
}
