#!/usr/bin/env node
// The command `claimcheck`. It is plain JavaScript, so that it can report an unsupported version of Node.
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fail, run } from './lib/run.mjs';

const COMMANDS = {
  dev: 'runs everything on this machine',
  db: 'runs the local database alone, for plain wrangler dev',
  demo: 'sends your app a storm of deliveries, and counts what comes out',
  send: 'sends a signed sample delivery',
  ops: 'shows events, retries, discards and runs them again',
  check: 'checks types, lint, configuration, migrations and builds',
  types: 'writes the types of what the wrangler files bind',
  migrate: "applies the engine's migrations, then yours",
  roles: 'makes a database role for each Worker, and prints its URL',
  'try-live': 'deploys without an account of yours, for an hour',
  setup: 'takes you from nothing to production',
  deploy: 'migrates and deploys',
  secret: 'sets a secret of a deployed Worker',
};

const [name, ...args] = process.argv.slice(2);
if (name === undefined || name === '--help' || name === '-h') {
  console.log(`claimcheck <command> [--help]\n`);
  for (const [command, text] of Object.entries(COMMANDS)) console.log(`  ${command.padEnd(9)} ${text}`);
  process.exit(0);
}
if (!Object.hasOwn(COMMANDS, name)) fail('claimcheck', `there is no command ${name}: npx claimcheck --help lists them`);

// Commands run in the app's root, even if they are called in a folder below it.
let root = process.cwd();
while (!existsSync(join(root, 'wrangler.toml')) && dirname(root) !== root) root = dirname(root);
if (!existsSync(join(root, 'wrangler.toml'))) fail(name, 'there is no wrangler.toml here or above: run it in your app');
process.chdir(root);

const extension = existsSync(new URL('./dev.ts', import.meta.url)) ? 'ts' : 'js';
await run(name, new URL(`./${name}.${extension}`, import.meta.url), args);
