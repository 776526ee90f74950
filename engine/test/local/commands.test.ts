import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort, listen } from '../../cli/lib/port.ts';
import { type Checkout, makeCheckout, runIn } from '../checkout.ts';

let checkout: Checkout;
beforeAll(async () => {
  checkout = await makeCheckout();
});
afterAll(() => checkout.remove());

it('npm run dev whose port is taken says how to see by whom, and how to choose another port', async () => {
  const server = createServer();
  const port = await listen(server, 0);
  const { code, text } = await checkout.call(['dev'], { PORT: String(port) });
  server.close();
  expect(code).toBe(1);
  const remedy = `PORT=${port + 1} npm run dev chooses another`;
  expect(text).toBe(`dev: port ${port} is in use (lsof -i :${port} shows by what): ${remedy}`);
});

it('npm run dev ends with one line if it cannot start', async () => {
  await checkout.write('.dev.vars', 'DATABASE_URL="postgres://a:b@db.example.com/c"\n');
  const { code, text } = await checkout.run(['dev'], { PORT: String(await freePort()) }).result;
  await checkout.write('.dev.vars', '');
  expect([code, text.split('\n').at(-1)]).toEqual([1, expect.stringMatching(/^dev: the DATABASE_URL in \.dev\.vars /)]);
});

const LOCAL = 'postgres://claimcheck:x@127.0.0.1:1/claimcheck';
it.each([
  ['migrate', 'canary:secret@host', /^migrate: DATABASE_URL is not a postgres:\/\/ URL$/],
  ['deploy', 'canary:secret@host', /^deploy: DATABASE_URL is not a postgres:\/\/ URL$/],
  ['deploy', LOCAL, /^deploy: set DATABASE_URL in the shell to the database that the deployed Workers use.*$/],
  ['migrate', '', /^migrate: DATABASE_URL is not set, neither in the environment nor in \.dev\.vars \(npm run dev/],
])('%s with the DATABASE_URL %j ends with one line, which does not repeat it', async (command, url, line) => {
  const { code, text } = await checkout.call([command], { DATABASE_URL: url });
  expect([code, text]).toEqual([1, expect.stringMatching(line)]);
});

it('a command without the packages says how to install them', async () => {
  const bare = await mkdtemp(join(tmpdir(), 'claimcheck-bare-'));
  await writeFile(join(bare, 'wrangler.toml'), '');
  const { code, text } = await runIn(bare, ['dev']).result;
  await rm(bare, { recursive: true });
  expect([code, text]).toEqual([1, 'dev: the packages are not installed: run npm ci']);
});

it('an option that npm has kept, because no -- was before it, is not lost without a word', async () => {
  const { code, error } = await checkout.call(['deploy'], { npm_config_env: 'staging' });
  expect([code, error]).toEqual([1, expect.stringMatching(/^deploy: npm has taken --env for itself: /)]);
});

it('a refusal is one line on the standard error, and the exit code that a script can tell apart', async () => {
  const { code, out, error } = await checkout.run(['ops', 'stats']).result;
  expect([code, out, error]).toEqual([2, '', expect.stringMatching(/^ops: there is no command stats: .*\n$/)]);
});

it('npm ci puts a Node on the PATH of every script that runs TypeScript as it is', () => {
  const version = execFileSync('node_modules/.bin/node', ['--version'], { encoding: 'utf8' });
  expect(Number(/^v(\d+)/.exec(version)?.[1])).toBeGreaterThanOrEqual(24);
});
