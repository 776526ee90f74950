import { gzipSync } from 'node:zlib';
import { CONFIGS } from '../cli/config/worker-config.ts';
import { readArguments } from '../cli/lib/arguments.ts';
import { buildWorker } from './built.ts';

/** How large each Worker is, as `wrangler deploy` would send it. */
export default async function main(): Promise<void> {
  readArguments({});
  const kib = (bytes: Buffer) => `${(bytes.length / 1024).toFixed(1)} KiB`;
  for (const [worker, path] of Object.entries(CONFIGS)) {
    const { code } = buildWorker(path);
    console.log(`${worker}: ${kib(code)}, ${kib(gzipSync(code))} gzipped`);
  }
}
