import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { isListening } from '../lib/port.ts';
import { collect, describeProcess, lastLine } from '../lib/processes.ts';
import { UserError } from '../lib/user-error.ts';
import { isRoot, type Programs, ROOT_HOME } from './programs.ts';

/** As root the data can't stay in the checkout, because PostgreSQL's user may not be able to reach it there. */
export function keptDir(folder: string): string {
  const path = resolve(folder);
  return isRoot ? join(ROOT_HOME, createHash('sha256').update(path).digest('hex').slice(0, 16)) : path;
}

export async function throwAwayDir(): Promise<string> {
  if (isRoot) await mkdir(ROOT_HOME, { recursive: true, mode: 0o755 });
  return mkdtemp(join(isRoot ? ROOT_HOME : tmpdir(), 'claimcheck-'));
}

export function isInitialised(dataDir: string): boolean {
  return existsSync(join(dataDir, 'PG_VERSION'));
}

/** PostgreSQL refuses to start on data in use, but nothing else would keep us from deleting it. */
export async function removeUnused(dataDir: string): Promise<void> {
  await refuseInUse(dataDir);
  await rm(dataDir, { recursive: true, force: true });
}

export async function refuseInUse(dataDir: string): Promise<void> {
  const [pid, , , port] = await readFile(join(dataDir, 'postmaster.pid'), 'utf8').then(
    (text) => text.split('\n'),
    () => [],
  );
  if (port && (await isListening(Number(port)))) throw inUse(dataDir, pid);
}

export function inUse(dataDir: string, pid = ''): UserError {
  return new UserError(`the data in ${dataDir} belongs to a running server: stop ${describeProcess(pid)} first`);
}

/** Creates the data of a new server, with one superuser. */
export async function initialise(
  { initdb, owner }: Programs,
  dataDir: string,
  superuser: { readonly user: string; readonly password: string },
): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const passwordFile = `${dataDir}.password`;
  await writeFile(passwordFile, superuser.password, { mode: 0o600 });
  if (owner) for (const path of [dataDir, passwordFile]) await chown(path, owner.uid, owner.gid);
  try {
    const flags = ['--auth=scram-sha-256', '--encoding=UTF8', '--locale-provider=builtin', '--locale=C.UTF-8'];
    const child = spawn(initdb, ['-D', dataDir, '-U', superuser.user, `--pwfile=${passwordFile}`, ...flags], {
      ...owner,
      cwd: '/',
    });
    const output = collect(child);
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new UserError(`PostgreSQL could not create its data in ${dataDir}: ${lastLine(output())}`);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/** In a data folder: the checkout that it belongs to. */
const MARK = 'claimcheck-checkout';

/** As root the data is outside of its checkout, and would stay when the checkout is deleted. */
export function rememberCheckout(dataDir: string): void {
  if (isRoot) writeFileSync(join(dataDir, MARK), process.cwd());
}

/** Removes the data whose checkout is gone, unless a server uses it. */
export function removeOrphanedData(home = isRoot ? ROOT_HOME : ''): void {
  const folders = existsSync(home) ? readdirSync(home).map((name) => join(home, name)) : [];
  for (const folder of folders) {
    const mark = join(folder, MARK);
    if (!existsSync(mark) || existsSync(readFileSync(mark, 'utf8')) || isServed(folder)) continue;
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The file is PostgreSQL's own. After a crash it may name a process that is gone. */
function isServed(dataDir: string): boolean {
  const file = join(dataDir, 'postmaster.pid');
  if (!existsSync(file)) return false;
  const [pid = ''] = readFileSync(file, 'utf8').split('\n');
  return existsSync(`/proc/${pid}`);
}
