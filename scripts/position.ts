import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { CONFIGS } from './config/worker-config.ts';
import { readArguments } from './lib/arguments.ts';
import { OFFLINE } from './lib/offline.ts';
import { mapPosition, readBundle } from './lib/positions.ts';
import { UserError } from './lib/user-error.ts';

const USAGE = `npm run position -- [--receiver | --ops] '<position>'

Shows the places in your files that the "position" of a log line names, such as 'handle (index.js:120:9)'. Check out the
deployed commit first: the Worker is built again as it was for the deploy.
  --receiver   for the steps delivery, claim and tickets
  --ops        for the step operator. All others are the consumer's`;

export default async function main(): Promise<void> {
  const { values, positionals } = readArguments({
    allowPositionals: true,
    options: { receiver: { type: 'boolean', default: false }, ops: { type: 'boolean', default: false } },
  });
  const [position] = positionals;
  if (!position) return console.log(USAGE);
  if (!/:\d+:\d+/.test(position)) throw new UserError('a position has a line and a column, such as index.js:120:9');
  const worker = values.receiver ? 'receiver' : values.ops ? 'ops' : 'consumer';
  const folder = resolve('node_modules/.cache/claimcheck/position', worker);
  const build = [
    'node_modules/wrangler/bin/wrangler.js',
    'deploy',
    '--dry-run',
    '--outdir',
    folder,
    '-c',
    CONFIGS[worker],
  ];
  execFileSync(process.execPath, build, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...OFFLINE },
  });
  for (const frame of mapPosition(position, readBundle(folder))) console.log(frame);
}
