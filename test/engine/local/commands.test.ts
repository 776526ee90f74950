import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, rm, stat, symlink } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort, isListening, listen } from '../../../scripts/local/port.ts';

let checkout: string;

/** A checkout of its own: what these commands write stays out of this one. */
beforeAll(async () => {
  checkout = await mkdtemp(join(tmpdir(), 'claimcheck-checkout-'));
  const files = [
    'src',
    'scripts',
    'drizzle',
    'package.json',
    'wrangler.toml',
    'wrangler.consumer.toml',
    'drizzle.config.ts',
  ];
  for (const file of files) await cp(file, join(checkout, file), { recursive: true });
  await symlink(resolve('node_modules'), join(checkout, 'node_modules'));
});

afterAll(() => rm(checkout, { recursive: true, force: true }));

interface Ran {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly exit: Promise<number | null>;
}

function run(args: string[], env: Record<string, string> = {}, cwd = checkout): Ran {
  const child = spawn(process.execPath, ['scripts/run.mjs', ...args], { cwd, env: { ...process.env, ...env } });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
  return { child, output: () => text, exit: once(child, 'exit').then(([code]) => code as number | null) };
}

async function said({ output, exit }: Ran): Promise<{ code: number | null; text: string }> {
  return { code: await exit, text: output().trim() };
}

describe('npm run dev', () => {
  it('is ready for a delivery, works it, and leaves neither a process nor a taken port behind', async () => {
    const port = await freePort();
    const dev = run(['dev'], { PORT: String(port) });
    await expect.poll(dev.output, { timeout: 30_000 }).toContain('\nready ');
    const ports = [
      port,
      ...Array.from(dev.output().matchAll(/127\.0\.0\.1:(\d+)|port (\d+)/g), ([, a, b]) => Number(a ?? b)),
    ];

    const sent = await said(run(['send', 'stripe', '--times', '3', '--concurrency', '3'], { PORT: String(port) }));
    expect(sent.code).toBe(0);
    expect(sent.text.match(/"accepted"/g)).toHaveLength(1);
    expect(sent.text.match(/"duplicate"/g)).toHaveLength(2);
    await expect.poll(dev.output, { timeout: 20_000 }).toMatch(/"at":"effect".*"outcome":"sent"/);

    const { text: curl } = await said(run(['send', 'stripe', '--id', "evt_it's", '--curl'], { PORT: String(port) }));
    expect(execFileSync('sh', ['-c', curl.replace('curl -i', 'curl -sS')], { encoding: 'utf8' })).toBe(
      '{"status":"accepted"}',
    );

    dev.child.kill('SIGINT');
    expect(await dev.exit).toBe(0);
    expect(new Set(ports).size).toBeGreaterThanOrEqual(4);
    for (const taken of ports) expect([taken, await isListening(taken)]).toEqual([taken, false]);
    const data = /PostgreSQL\s+(\S+),/.exec(dev.output())?.[1] ?? '';
    await rm(data, { recursive: true });
  }, 90_000);

  it('says in one line which port is taken, and how to choose another', async () => {
    const server = createServer();
    const port = await listen(server, 0);
    const { code, text } = await said(run(['dev'], { PORT: String(port) }));
    server.close();
    expect([code, text]).toEqual([1, `dev: port ${port} is taken: PORT=${port + 1} npm run dev chooses another`]);
  });

  it('writes secrets that nobody else may read, and adds the one of a new source', async () => {
    const file = join(checkout, '.dev.vars');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const text = await readFile(file, 'utf8');
    expect(text).toMatch(/^STANDARDWEBHOOKS_WEBHOOK_SECRET="whsec_/m);
    expect(text).toMatch(/^DATABASE_URL="postgres:\/\/claimcheck:[^@]+@127\.0\.0\.1:\d+\/claimcheck"/m);
  });
});

describe('npm run send', () => {
  it.each([
    [['send', 'nobody'], 'send: there is no source nobody; there are '],
    [['send', 'stripe', '--times', 'many'], 'send: --times takes a whole number from 1'],
    [
      ['send', 'stripe', '--url', 'http://127.0.0.1:1'],
      'send: nobody answers at http://127.0.0.1:1: start the receiver',
    ],
  ])('%j is answered with one line', async (args, line) => {
    const { code, text } = await said(run(args));
    expect(code).toBe(1);
    expect(text.split('\n').at(-1)).toContain(line);
  });

  it('without a source says how it is used', async () => {
    const { code, text } = await said(run(['send']));
    expect(code).toBe(0);
    expect(text).toContain('npm run send -- <source> [type]');
  });
});

it('a DATABASE_URL that is no URL is not repeated', async () => {
  for (const command of ['deploy', 'migrate']) {
    const { code, text } = await said(run([command], { DATABASE_URL: 'canary:secret@host' }));
    expect([code, text]).toEqual([1, `${command}: DATABASE_URL is not a postgres:// URL`]);
  }
});

it('npm run deploy refuses a database on this machine', async () => {
  for (const DATABASE_URL of ['', 'postgres://claimcheck:x@127.0.0.1:1/claimcheck']) {
    const { code, text } = await said(run(['deploy'], { DATABASE_URL }));
    expect([code, text.split('\n')]).toEqual([1, [expect.stringContaining('deploy: set DATABASE_URL in the shell')]]);
  }
});

describe('npm run replay', () => {
  it.each([
    [
      ['replay', 'rerun', '--source', 'stripe'],
      'replay: a rerun makes the changes of its events A SECOND TIME: say --yes',
    ],
    [['replay', 'retry'], 'replay: say which events'],
    [['replay', 'discard', '--id', 'evt_1'], 'replay: discard takes --reason TEXT'],
    [['replay', 'retry', '--since', 'yesterday-ish'], 'replay: --since takes a time'],
  ])('%j is answered with one line', async (args, line) => {
    const { code, text } = await said(run(args));
    expect(code).toBe(1);
    expect(text).toContain(line);
    expect(text.split('\n')).toHaveLength(1);
  });
});

it('a command without the packages says how to install them', async () => {
  const bare = await mkdtemp(join(tmpdir(), 'claimcheck-bare-'));
  await cp('scripts', join(bare, 'scripts'), { recursive: true });
  const { code, text } = await said(run(['dev'], {}, bare));
  await rm(bare, { recursive: true });
  expect([code, text]).toEqual([1, 'dev: the packages are not installed: run npm ci']);
});

it('a command that needs a variable names it', async () => {
  const bare = await mkdtemp(join(tmpdir(), 'claimcheck-novars-'));
  for (const name of ['scripts', 'src', 'drizzle']) await cp(name, join(bare, name), { recursive: true });
  await symlink(resolve('node_modules'), join(bare, 'node_modules'));
  const env = { DATABASE_URL: '' };
  const { code, text } = await said(run(['migrate'], env, bare));
  await rm(bare, { recursive: true });
  expect([code, text]).toEqual([
    1,
    'migrate: DATABASE_URL is not set, neither in the environment nor in .dev.vars (npm run dev makes it)',
  ]);
});

it('npm ci puts a Node on the PATH of every script that runs TypeScript as it is', () => {
  const version = execFileSync('node_modules/.bin/node', ['--version'], { encoding: 'utf8' });
  expect(Number(/^v(\d+)/.exec(version)?.[1])).toBeGreaterThanOrEqual(24);
});
