import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generateDrizzleJson } from 'drizzle-kit/api';
import * as schema from '../src/db/schema.ts';
import { readArguments } from './local/arguments.ts';
import { bundle } from './local/bundle.ts';
import { RECEIVER_CONFIG, readConfig } from './local/config.ts';

const FOLDER = 'test/engine/faults/previous';

/**
 * Keeps this version's Workers and tables, so that the next version can be tested beside them: run it at a release, after
 * the last change. They are committed, because a fork of the template has neither its history nor its tags.
 */
export default async function main(): Promise<void> {
  readArguments({});
  const settings = { ...readConfig(RECEIVER_CONFIG).raw, minify: true };
  const built = bundle(join(FOLDER, 'both.ts'), settings, 'node_modules/.cache/claimcheck/previous');
  const worker = readFileSync(built, 'utf8').replace(/^\/\/# sourceMappingURL=.*$/m, '');
  const tables = JSON.stringify(generateDrizzleJson(schema));
  for (const [file, text] of Object.entries({ 'worker.js': worker, 'schema.json': tables })) {
    writeFileSync(join(FOLDER, file), text);
    console.log(`${FOLDER}/${file}: ${Math.round(text.length / 1024)} KiB`);
  }
}
