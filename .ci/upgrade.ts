// Proves that a fork gets fixes: makes one of the last release (of this checkout, as long as there is none), gives it an app and
// changes of its own, and upgrades it to this checkout with a made-up version on top. It needs the template's whole history.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { connect } from '../scripts/database/connect.ts';
import { openTemplate } from '../scripts/upgrade/template.ts';
import { makeNextVersion, NEW_COLUMN, NEXT } from '../test/engine/upgrade/next-version.ts';

const TABLES = `import { pgTable, text } from 'drizzle-orm/pg-core';

export const orders = pgTable('orders', { id: text().primaryKey() });
`;

const root = mkdtempSync(join(tmpdir(), 'acme-'));
const template = join(root, 'template');
const fork = join(root, 'acme-hooks');
const ends: (() => unknown)[] = [() => rmSync(root, { recursive: true, force: true })];

try {
  const head = git('.', 'rev-parse', 'HEAD').trim();
  const { versions, find } = openTemplate(['.']);
  const released = versions.flatMap(({ number }) => find(number) ?? []).find((commit) => commit !== head);
  console.log(`The fork is made from ${released ?? `${head}: nothing older is released`}`);

  git('.', 'clone', '--quiet', '.', template);
  makeNextVersion(template, { version: readJson(join(template, 'package.json')).version, commit: head });
  commit(template, 'A made-up version');

  git('.', 'clone', '--quiet', '.', fork);
  git(fork, 'checkout', '--quiet', '-B', 'main', released ?? head);
  run('npm', 'ci');
  run('npm', 'run', 'init', '--', 'acme-hooks', '--empty');
  commit(fork, 'Made ours');
  writeFileSync(join(fork, 'src/app/tables.ts'), TABLES);
  run('npm', 'run', 'db:generate');
  edit('src/shared/text.ts', 'const year =', '// Ours.\n  const year =');
  edit('src/shared/problem.ts', 'RFC 9457.', 'RFC 9457, as we do it.');
  commit(fork, 'A table, and changes of the engine');
  const hasNewColumn = await startDatabase();

  const { status, stdout } = upgrade();
  expect(status === 1, 'an upgrade with a conflict ends with an error');
  for (const line of ['conflict  src/shared/problem.ts', 'merged    src/shared/text.ts', 'Set `BODY_DAYS` to 5.']) {
    expect(stdout.includes(line), `the upgrade says "${line}"`);
  }
  git(fork, 'checkout', '--quiet', '--theirs', 'src/shared/problem.ts');
  edit('wrangler.consumer.toml', 'BODY_DAYS = 7', 'BODY_DAYS = 5');
  for (const command of ['types', 'check', 'test', 'demo']) run('npm', 'run', command);
  commit(fork, `Upgraded to ${NEXT}`);
  expect(readFileSync(join(fork, 'src/app/tables.ts'), 'utf8') === TABLES, 'the app is as it was');

  expect(!(await hasNewColumn()), 'the upgrade itself changes no database');
  run('npm', 'run', 'db:migrate');
  expect(await hasNewColumn(), 'the new migration of the engine is applied, although the app has a newer one');
  run('npm', 'ci');
  expect(upgrade().stdout.includes(`This is ${NEXT} already.`), 'the same upgrade has nothing more to do');
  console.log('The upgrade passes.');
} finally {
  for (const end of ends.reverse()) await end();
}

function upgrade() {
  console.log(`\nacme-hooks $ npm run upgrade -- --from ${template}`);
  const result = spawnSync('npm', ['run', 'upgrade', '--', '--from', template], { cwd: fork, encoding: 'utf8' });
  console.log(result.stdout + result.stderr);
  return result;
}

/** The fork's own database, which goes on during the upgrade. Returns whether it has what the engine's new migration makes. */
async function startDatabase(): Promise<() => Promise<boolean>> {
  const server = spawn(process.execPath, ['scripts/run.mjs', 'db'], {
    cwd: fork,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  ends.push(async () => {
    if (server.exitCode === null && server.kill('SIGINT')) await once(server, 'exit');
  });
  await new Promise<void>((ready, failed) => {
    server.stdout.on('data', (text) => String(text).includes('ready') && ready());
    server.once('exit', () => failed(new Error('npm run db ended')));
  });
  const { DATABASE_URL = '' } = parseEnv(readFileSync(join(fork, '.dev.vars'), 'utf8'));
  return async () => {
    const client = await connect(DATABASE_URL);
    const { rowCount } = await client.query(
      `select from information_schema.columns where table_schema = 'webhooks' and table_name = $1 and column_name = $2`,
      [NEW_COLUMN.table, NEW_COLUMN.column],
    );
    await client.end();
    return rowCount === 1;
  };
}

function edit(file: string, text: string, replacement: string): void {
  const before = readFileSync(join(fork, file), 'utf8');
  expect(before.includes(text), `${file} has "${text}"`);
  writeFileSync(join(fork, file), before.replace(text, replacement));
}

function expect(holds: boolean, what: string): void {
  if (!holds) throw new Error(`this is not so: ${what}`);
  console.log(`ok  ${what}`);
}

function readJson(file: string): { version: string } {
  return JSON.parse(readFileSync(file, 'utf8'));
}

function run(program: string, ...args: string[]): void {
  console.log(`\nacme-hooks $ ${program} ${args.join(' ')}`);
  // A DATABASE_URL of this shell would be migrated.
  const { DATABASE_URL: _, ...env } = process.env;
  execFileSync(program, args, { cwd: fork, stdio: 'inherit', env });
}

function commit(folder: string, message: string): void {
  git(folder, 'add', '--all');
  git(folder, '-c', 'user.name=acme', '-c', 'user.email=acme@example.com', 'commit', '--quiet', '--message', message);
}

function git(folder: string, ...args: string[]): string {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8' });
}
