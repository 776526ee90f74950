import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { providers } from '../src/providers/index.ts';
import { readArguments } from './local/arguments.ts';
import { bundle } from './local/bundle.ts';
import { RECEIVER_CONFIG, readConfig } from './local/config.ts';

const FOLDER = 'node_modules/.cache/claimcheck/size';

/** What providers and the console add: the receiver as `wrangler deploy` would send it, with and without them. */
export default async function main(): Promise<void> {
  readArguments({});
  rmSync(FOLDER, { recursive: true, force: true });
  for (const [title, names, withConsole] of [
    ['one provider (stripe), no console', ['stripe'], false],
    ['one provider (stripe)', ['stripe'], true],
    [`all ${Object.keys(providers).length} providers`, Object.keys(providers), true],
  ] as const) {
    const bytes = build(names, withConsole);
    const kib = (length: number) => `${(length / 1024).toFixed(1)} KiB`;
    console.log(`${title}: ${kib(bytes.length)}, ${kib(gzipSync(bytes).length)} gzipped`);
  }
}

function build(names: readonly string[], withConsole: boolean): Buffer {
  const folder = join(FOLDER, [names.length, withConsole ? 'console' : ''].join('-'));
  mkdirSync(folder, { recursive: true });
  const from = (path: string) => JSON.stringify(resolve('src', path));
  const imports = names.map((name, n) => `import * as p${n} from ${from(`providers/${name}.ts`)};`);
  const sources = names.map(
    (name, n) => `[${JSON.stringify(name)}, { provider: p${n}.${camelCase(name)}, types: [] }]`,
  );
  const worker = join(folder, 'worker.ts');
  writeFileSync(
    worker,
    `${imports.join('\n')}
import { createReceiver } from ${from('receiver/app.ts')};
import { tick } from ${from('receiver/cron.ts')};
import { log } from ${from('log.ts')};
${withConsole ? `import { createConsole } from ${from('console/index.tsx')};` : ''}
const sources = Object.fromEntries([${sources.join(', ')}]);
const app = createReceiver({ sources, now: () => new Date(), log${withConsole ? ', createConsole' : ''} });
export default { fetch: app.fetch, scheduled: (controller, env) => tick(env, new Date(), log) };
`,
  );
  return readFileSync(bundle(worker, readConfig(RECEIVER_CONFIG).raw, join(folder, 'built')));
}

function camelCase(name: string): string {
  return name.replace(/-(\w)/g, (_dash, letter: string) => letter.toUpperCase());
}
