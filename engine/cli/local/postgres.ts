import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { freePort, LOOPBACK } from '../lib/port.ts';
import { collect, lastLine } from '../lib/processes.ts';
import { UserError } from '../lib/user-error.ts';
import {
  findPrograms,
  initialise,
  inUse,
  isInitialised,
  keptDir,
  type Programs,
  removeUnused,
  throwAwayDir,
} from './postgres-files.ts';

export interface Postgres {
  readonly port: number;
  readonly dataDir: string;
  /** The only superuser, and only if the data is new: its password is not stored, because nothing needs it later. */
  readonly superuser: { readonly user: string; readonly password: string } | undefined;
  /** Ends the server and removes throw-away data. */
  stop(): Promise<void>;
  /** Ends the server and leaves its data: in good order with SIGINT, as in a crash with SIGKILL. */
  halt(signal: 'SIGINT' | 'SIGKILL'): Promise<void>;
  /** Starts the server again after a halt, on the same data and port. */
  restart(): Promise<void>;
}

export interface PostgresOptions {
  /** A folder of the checkout to keep the data in. Without it the data is thrown away at the end. */
  readonly keepIn?: string;
  readonly fresh?: boolean;
}

/** Neon's own name for the superuser that its customers don't get. */
const SUPERUSER = 'cloud_admin';

/** Without fsync, a server ends in a tenth of a second. */
const ENDS_WITHIN_MS = 300;

/** Starts a real PostgreSQL on loopback, on a free port. */
export async function startPostgres({ keepIn, fresh }: PostgresOptions = {}): Promise<Postgres> {
  forgetPgVariables();
  const programs = await findPrograms();
  const dataDir = keepIn ? keptDir(keepIn) : await throwAwayDir();
  // If something calls `process.exit`, as miniflare does at a signal, `stop` is never called.
  const removeWithUs = () => {
    // The server got its signal just before this, and still writes.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ENDS_WITHIN_MS);
    rmSync(dataDir, { recursive: true, force: true });
  };
  if (!keepIn) process.on('exit', removeWithUs);
  if (fresh) await removeUnused(dataDir);
  const superuser = isInitialised(dataDir) ? undefined : { user: SUPERUSER, password: randomPassword() };
  if (superuser) await initialise(programs, dataDir, superuser);

  const port = await freePort();
  // Throw-away data need not survive a power cut. It survives a killed process even so.
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
    superuser,
    async stop() {
      await halt('SIGINT');
      if (!keepIn) await rm(dataDir, { recursive: true, force: true });
      process.off('exit', removeWithUs);
    },
    halt,
    async restart() {
      server = await launch(programs, dataDir, port, flags);
    },
  };
}

/**
 * PGSSLMODE, PGOPTIONS and the like in a developer's shell are meant for another database. node-postgres reads them for
 * every setting that its caller leaves out, and Postgres and initdb read some as well: no local server would start, or
 * it would behave as no Neon does. Nothing that needs the local Postgres needs them.
 */
function forgetPgVariables(): void {
  for (const name of Object.keys(process.env)) if (name.startsWith('PG')) delete process.env[name];
}

async function launch(
  { postgres, owner }: Programs,
  dataDir: string,
  port: number,
  flags: string[],
): Promise<ChildProcess> {
  const listening = ['-p', String(port), '-c', `listen_addresses=${LOOPBACK}`, '-c', 'unix_socket_directories='];
  // initdb has written the developer's time zone into the configuration. Neon runs in UTC.
  const clock = ['-c', 'timezone=UTC', '-c', 'log_timezone=UTC'];
  // In a process group of its own: a Ctrl-C in the terminal must not end it while others still need it.
  const child = spawn(postgres, ['-D', dataDir, ...listening, ...clock, ...flags], {
    ...owner,
    cwd: '/',
    detached: true,
  });
  const output = collect(child);
  const endWithUs = () => child.kill('SIGINT');
  // Prepended, so that the server ends before its data is removed.
  process.prependListener('exit', endWithUs);
  child.once('exit', () => process.off('exit', endWithUs));
  await new Promise<void>((started, failed) => {
    child.stderr?.on('data', () => {
      if (output().includes('database system is ready to accept connections')) started();
    });
    child.once('exit', () => failed(explain(output(), dataDir)));
    child.once('error', failed);
  });
  return child;
}

function explain(output: string, dataDir: string): UserError {
  const owner = /Is another postmaster \(PID (\d+)\) running/.exec(output)?.[1];
  if (owner) return inUse(dataDir, owner);
  if (/incompatible with server/.test(output)) {
    return new UserError(
      `the data in ${dataDir} was made by another PostgreSQL: start over with npm run dev -- --fresh`,
    );
  }
  return new UserError(`PostgreSQL did not start: ${lastLine(output)}`);
}

/** For roles that are created on the spot. */
export function randomPassword(): string {
  return randomBytes(18).toString('base64url');
}
