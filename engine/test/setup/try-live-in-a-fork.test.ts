import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { buildFork } from '../../workshop/init/fork.ts';
import { STRANGER, useAccount } from './account.ts';

const account = useAccount();

it('a fork with its package goes live, with a delivery for each source that can sign one, twice', async () => {
  const fork = mkdtempSync(join(tmpdir(), 'claimcheck-fork-'));
  onTestFinished(() => rmSync(fork, { recursive: true }));
  const tracked = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  buildFork(fork, tracked.split('\0').filter(Boolean), { name: 'acme', empty: false, source: false });
  const packages = join(fork, 'node_modules');
  mkdirSync(packages);
  for (const name of readdirSync('node_modules')) {
    if (name !== 'claimcheck') symlinkSync(resolve('node_modules', name), join(packages, name));
  }
  const [tarball = ''] = readdirSync(join(fork, 'vendor'));
  execFileSync('tar', ['xzf', join(fork, 'vendor', tarball), '-C', packages]);
  execFileSync('mv', [join(packages, 'package'), join(packages, 'claimcheck')]);
  const scripts = JSON.parse(readFileSync(join(fork, 'package.json'), 'utf8')).scripts;
  expect(readFileSync(join(fork, '.gitignore'), 'utf8')).toMatch(/^\.data\/$/m);
  const run = (...args: string[]) => account.command(args, { env: STRANGER }, fork);
  for (const outcome of ['done', 'ok']) {
    const { code, text, outcomes } = await run(...scripts['try-live'].split(' ').slice(1), '--yes');
    expect([code, outcomes.slice(0, 2)], text).toEqual([0, [outcome, outcome]]);
    expect(text.match(/^done +delivery +signed as/gm)?.length, text).toBeGreaterThan(3);
  }
  expect((await run('send', 'stripe', '--live')).text).toContain('"accepted"');
  expect((await run('try-live', '--down', '--yes')).code).toBe(0);
}, 300_000);
