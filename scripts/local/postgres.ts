import { type ChildProcess, spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { freePort, isListening, LOOPBACK } from './port.ts';
import { findPrograms, isRoot, type Programs, ROOT_HOME } from './programs.ts';
import { UserError } from './user-error.ts';

export interface Postgres {
  readonly port: number;
  readonly dataDir: string;
  /** The end: throw-away data goes with it. */
  stop(): Promise<void>;
  /** Goes away and leaves its data: in good order with SIGINT, as in a crash with SIGKILL. */
  halt(signal: 'SIGINT' | 'SIGKILL'): Promise<void>;
  /** Comes back after a halt, on the same data and port. */
  restart(): Promise<void>;
}

export interface PostgresOptions {
  readonly user: string;
  readonly password: string;
  /** A folder of the checkout to keep the data in; without it the data is thrown away at the end. */
  readonly keepIn?: string;
  readonly fresh?: boolean;
}

/** Starts a real PostgreSQL on loopback, on a port of its own choosing. The role is its superuser. */
export async function startPostgres({ user, password, keepIn, fresh }: PostgresOptions): Promise<Postgres> {
  const programs = await findPrograms();
  const dataDir = keepIn ? keptDir(keepIn) : await throwAwayDir();
  if (fresh) await removeUnused(dataDir);
  if (!existsSync(join(dataDir, 'PG_VERSION'))) await initialise(programs, dataDir, user, password);

  const port = await freePort();
  // Data that nobody will miss need not survive a power cut; a killed process it survives all the same.
  const flags = keepIn ? [] : ['-c', 'fsync=off', '-c', 'full_page_writes=off'];
  let server = await launch(programs, dataDir, port, flags);
  const halt = async (signal: 'SIGINT' | 'SIGKILL') => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill(signal);
    await once(server, 'exit');
  };
  return {
    port,
    dataDir,
    async stop() {
      await halt('SIGINT');
      if (!keepIn) await rm(dataDir, { recursive: true, force: true });
    },
    halt,
    async restart() {
      server = await launch(programs, dataDir, port, flags);
    },
  };
}

/** PostgreSQL refuses to start on data in use, but nothing would keep us from deleting it. */
async function removeUnused(dataDir: string): Promise<void> {
  const [pid, , , port] = await readFile(join(dataDir, 'postmaster.pid'), 'utf8').then(
    (text) => text.split('\n'),
    () => [],
  );
  if (port && (await isListening(Number(port)))) throw inUse(dataDir, pid);
  await rm(dataDir, { recursive: true, force: true });
}

function inUse(dataDir: string, pid = ''): UserError {
  return new UserError(`the data in ${dataDir} belongs to a running server: stop process ${pid} first`);
}

/** As root the data can't stay in the checkout, where PostgreSQL's user may not be able to reach it. */
function keptDir(folder: string): string {
  const path = resolve(folder);
  return isRoot ? join(ROOT_HOME, createHash('sha256').update(path).digest('hex').slice(0, 16)) : path;
}

async function throwAwayDir(): Promise<string> {
  if (isRoot) await mkdir(ROOT_HOME, { recursive: true, mode: 0o755 });
  return mkdtemp(join(isRoot ? ROOT_HOME : tmpdir(), 'claimcheck-'));
}

async function initialise({ initdb, owner }: Programs, dataDir: string, user: string, password: string): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const passwordFile = `${dataDir}.password`;
  await writeFile(passwordFile, password, { mode: 0o600 });
  if (owner) for (const path of [dataDir, passwordFile]) await chown(path, owner.uid, owner.gid);
  try {
    const flags = ['--auth=scram-sha-256', '--encoding=UTF8', '--locale-provider=builtin', '--locale=C.UTF-8'];
    const child = spawn(initdb, ['-D', dataDir, '-U', user, `--pwfile=${passwordFile}`, ...flags], {
      ...owner,
      cwd: '/',
    });
    const said = collect(child);
    const [code] = await once(child, 'exit');
    if (code !== 0) throw new UserError(`PostgreSQL could not create its data in ${dataDir}: ${lastLine(said())}`);
  } finally {
    await rm(passwordFile, { force: true });
  }
}

async function launch(
  { postgres, owner }: Programs,
  dataDir: string,
  port: number,
  flags: string[],
): Promise<ChildProcess> {
  const listening = ['-p', String(port), '-c', `listen_addresses=${LOOPBACK}`, '-c', 'unix_socket_directories='];
  // In a process group of its own: a Ctrl-C in the terminal is for us, and we stop it once nobody needs it any more.
  const child = spawn(postgres, ['-D', dataDir, ...listening, ...flags], { ...owner, cwd: '/', detached: true });
  const said = collect(child);
  const endWithUs = () => child.kill('SIGINT');
  process.on('exit', endWithUs);
  child.once('exit', () => process.off('exit', endWithUs));
  await new Promise<void>((started, failed) => {
    child.stderr?.on('data', () => {
      if (said().includes('database system is ready to accept connections')) started();
    });
    child.once('exit', () => failed(explain(said(), dataDir)));
    child.once('error', failed);
  });
  return child;
}

function explain(said: string, dataDir: string): UserError {
  const owner = /Is another postmaster \(PID (\d+)\) running/.exec(said)?.[1];
  if (owner) return inUse(dataDir, owner);
  if (/incompatible with server/.test(said)) {
    return new UserError(
      `the data in ${dataDir} was made by another PostgreSQL: start over with npm run dev -- --fresh`,
    );
  }
  return new UserError(`PostgreSQL did not start: ${lastLine(said)}`);
}

function collect(child: ChildProcess): () => string {
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk) => (said = `${said}${chunk}`.slice(-10_000)));
  return () => said;
}

function lastLine(said: string): string {
  return said.trim().split('\n').at(-1) ?? '';
}

/** For roles made up on the spot. */
export function randomPassword(): string {
  return randomBytes(18).toString('base64url');
}
