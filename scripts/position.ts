import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { readArguments } from './local/arguments.ts';
import { CONSUMER_CONFIG, RECEIVER_CONFIG } from './local/config.ts';
import { OFFLINE } from './local/offline.ts';
import { mapPosition, readBundle } from './local/positions.ts';
import { UserError } from './local/user-error.ts';

const USAGE = `npm run position -- [--receiver] '<position>'

Shows the places in your files that the "position" of a log line names, such as 'handle (index.js:120:9)'. Check out the
deployed commit first: the Worker is built again as it was for the deploy.
  --receiver   for the steps delivery, claim, tickets, sweep and prune. All others are the consumer's`;

export default async function main(): Promise<void> {
  const { values, positionals } = readArguments({
    allowPositionals: true,
    options: { receiver: { type: 'boolean', default: false } },
  });
  const [position] = positionals;
  if (!position) return console.log(USAGE);
  if (!/:\d+:\d+/.test(position)) throw new UserError('a position has a line and a column, such as index.js:120:9');
  const config = values.receiver ? RECEIVER_CONFIG : CONSUMER_CONFIG;
  const folder = resolve('node_modules/.cache/claimcheck/position', values.receiver ? 'receiver' : 'consumer');
  const build = ['node_modules/wrangler/bin/wrangler.js', 'deploy', '--dry-run', '--outdir', folder, '-c', config];
  execFileSync(process.execPath, build, {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, ...OFFLINE },
  });
  for (const frame of mapPosition(position, readBundle(folder))) console.log(frame);
}
