import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { listen } from '../../../scripts/lib/port.ts';
import { type Checkout, makeCheckout, runIn } from '../checkout.ts';

let checkout: Checkout;
beforeAll(async () => {
  checkout = await makeCheckout();
});
afterAll(() => checkout.remove());

const run = (args: readonly string[], env: Record<string, string> = {}) => checkout.run(args, env).result;

/** In this process: starting one takes a second, and every command reads its arguments first. */
describe('the arguments of', () => {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
  const ours = Object.entries(scripts).flatMap(([name, line]) => {
    const [, path = ''] = /run\.mjs (\S+)/.exec(line) ?? [];
    return path === '' ? [] : [[`npm run ${name}`, path]];
  });
  const makers = ['check', 'docs-providers', 'size'].map((name) => ['', `workshop/${name}`]);

  async function mainWith(path: string, arg: string): Promise<unknown> {
    const { default: main } = await import(`../../../${path.includes('/') ? path : `scripts/${path}`}.ts`);
    const { argv } = process;
    process.argv = ['node', path, arg];
    return main().finally(() => (process.argv = argv));
  }

  // `ops` has options of its own for each action, and `init` is tried by .ci/fork.ts.
  const strict = [...ours, ...makers].filter(([, path = '']) => !['ops', 'workshop/init'].includes(path));

  it.each(strict)('%s (%s): an option that it does not know is refused', async (_name, path = '') => {
    await expect(mainWith(path, '--nonsense')).rejects.toThrow(/^there is no option --nonsense: its options are --/);
  });

  it.each(ours)('%s (%s): --help says how it is used', async (name = '', path = '') => {
    const printed: string[] = [];
    const log = vi.spyOn(console, 'log').mockImplementation((text) => printed.push(text));
    const exit = vi.spyOn(process, 'exit').mockImplementation(() => {
      throw new Error('the end');
    });
    await mainWith(path, '--help').catch(() => {});
    expect(exit.mock.calls[0]?.[0] ?? 0).toBe(0);
    exit.mockRestore();
    log.mockRestore();
    const lines = printed.join('\n').split('\n');
    expect(lines[0]).toContain(name);
    expect(lines.length).toBeGreaterThan(2);
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
  const { code, text } = await run(['deploy'], { DATABASE_URL: 'postgres://claimcheck:x@127.0.0.1:1/claimcheck' });
  expect([code, text]).toEqual([1, expect.stringMatching(/^deploy: set DATABASE_URL in the shell.*$/)]);
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
