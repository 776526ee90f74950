import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listen } from '../../../scripts/lib/port.ts';
import { type Checkout, makeCheckout, runIn } from '../checkout.ts';
import { RECEIVER } from '../orders-app.ts';

let checkout: Checkout;
beforeAll(async () => {
  checkout = await makeCheckout();
});
afterAll(() => checkout.remove());

const run = (args: readonly string[], env: Record<string, string> = {}) => checkout.run(args, env).result;

describe('an option that a command doesn’t know is refused with one line by', () => {
  it.each([
    'dev',
    'db',
    'check',
    'deploy',
    'migrate',
    'roles',
    'types',
    'workshop/check',
    'workshop/docs-providers',
    'workshop/size',
  ])('%s', async (command) => {
    const { code, text } = await run([command, '--nonsense']);
    expect([code, text]).toEqual([1, expect.stringContaining(`${basename(command)}: there is no option --nonsense: `)]);
    expect(text.split('\n')).toHaveLength(1);
  });
});

describe('--help says how it is used for', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const ours = Object.entries(scripts).flatMap(([name, line]) => {
    const [, path = ''] = /run\.mjs (\S+)/.exec(line) ?? [];
    return path === '' ? [] : [[`npm run ${name}`, path] as const];
  });

  it.each(ours)('%s', async (name, path) => {
    const { code, text } = await run([path, '--help']);
    expect([code, text.split('\n', 1)[0]]).toEqual([0, expect.stringContaining(name)]);
    expect(text.split('\n').length).toBeGreaterThan(2);
  });
});

it('npm run dev names the process that holds its port, and how to choose another port', async () => {
  const server = createServer();
  const port = await listen(server, 0);
  const { code, text } = await run(['dev'], { PORT: String(port) });
  server.close();
  expect(code).toBe(1);
  const holder = process.platform === 'linux' ? `process ${process.pid} (node ` : 'another process (lsof ';
  expect(text).toContain(`dev: port ${port} is taken by ${holder}`);
  expect(text).toContain(`: PORT=${port + 1} npm run dev chooses another`);
  expect(text.split('\n')).toHaveLength(1);
});

it('npm run check and npm run deploy name a source without a secret', async () => {
  const own = await makeCheckout();
  await own.write('wrangler.toml', RECEIVER.replace(', "ORDERS_WEBHOOK_SECRET"', ''));
  const env = { DATABASE_URL: 'postgres://claimcheck:x@db.example.com/claimcheck' };
  for (const command of ['check', 'deploy']) {
    const { code, text } = await own.run([command], env).result;
    expect(code).toBe(1);
    expect(text).toContain(
      'source orders has no secret: add "ORDERS_WEBHOOK_SECRET" to secrets.required in wrangler.toml',
    );
  }
  await own.remove();
});

describe('npm run send', () => {
  it.each([
    [['send', 'nobody'], 'send: there is no source nobody'],
    [['send', 'orders', '--times', 'many'], 'send: --times takes a whole number from 1'],
    [['send', 'orders', '--url', 'http://127.0.0.1:1'], 'send: no receiver answers at http://127.0.0.1:1: start it'],
  ])('%j is answered with one line', async (args, line) => {
    const { code, text } = await run(args, { ORDERS_WEBHOOK_SECRET: 'x' });
    expect(code).toBe(1);
    expect(text.split('\n').at(-1)).toContain(line);
  });

  it('without a source says how it is used', async () => {
    const { code, text } = await run(['send']);
    expect(code).toBe(0);
    expect(text).toContain('npm run send -- <source> [type]');
  });
});

it('a DATABASE_URL that is no URL is not repeated', async () => {
  for (const command of ['deploy', 'migrate']) {
    const { code, text } = await run([command], { DATABASE_URL: 'canary:secret@host' });
    expect([code, text]).toEqual([1, `${command}: DATABASE_URL is not a postgres:// URL`]);
  }
});

it('npm run deploy refuses a database on this machine', async () => {
  for (const DATABASE_URL of ['', 'postgres://claimcheck:x@127.0.0.1:1/claimcheck']) {
    const { code, text } = await run(['deploy'], { DATABASE_URL });
    expect([code, text]).toEqual([1, expect.stringMatching(/^deploy: set DATABASE_URL in the shell.*$/)]);
  }
});

it('a command without the packages says how to install them', async () => {
  const bare = await mkdtemp(join(tmpdir(), 'claimcheck-bare-'));
  await cp('scripts', join(bare, 'scripts'), { recursive: true });
  const { code, text } = await runIn(bare, ['dev']).result;
  await rm(bare, { recursive: true });
  expect([code, text]).toEqual([1, 'dev: the packages are not installed: run npm ci']);
});

it('a command that needs a variable names it', async () => {
  const { code, text } = await run(['migrate'], { DATABASE_URL: '' });
  expect([code, text]).toEqual([
    1,
    'migrate: DATABASE_URL is not set, neither in the environment nor in .dev.vars (npm run dev makes it)',
  ]);
});

it('npm ci puts a Node on the PATH of every script that runs TypeScript as it is', () => {
  const version = execFileSync('node_modules/.bin/node', ['--version'], { encoding: 'utf8' });
  expect(Number(/^v(\d+)/.exec(version)?.[1])).toBeGreaterThanOrEqual(24);
});
