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
  /** The superuser, if the data is new. Its password is not stored, because it isn't needed later. */
  readonly superuser: { readonly user: string; readonly password: string } | undefined;
  /** Ends the server and removes throw-away data. */
  stop(): Promise<void>;
  /** Ends the server and keeps its data: cleanly with SIGINT, or as in a crash with SIGKILL. */
  halt(signal: 'SIGINT' | 'SIGKILL'): Promise<void>;
  /** Restarts the server after `halt`, with the same data and port. */
  restart(): Promise<void>;
}

export interface PostgresOptions {
  /** A folder in the checkout for the data. Without it the data is deleted at the end. */
  readonly keepIn?: string;
  readonly fresh?: boolean;
}

/** Neon's name for the superuser, which its customers can't use. */
const SUPERUSER = 'cloud_admin';

/** Without fsync, a server ends in a tenth of a second. */
const ENDS_WITHIN_MS = 300;

/** Starts a real PostgreSQL on loopback, on a free port. */
export async function startPostgres({ keepIn, fresh }: PostgresOptions = {}): Promise<Postgres> {
  forgetPgVariables();
  const programs = await findPrograms();
  const dataDir = keepIn ? keptDir(keepIn) : await throwAwayDir();
  // `stop` isn't called if something calls `process.exit`, as miniflare does at a signal.
  const removeWithUs = () => {
    // The server has just got its signal and still writes.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ENDS_WITHIN_MS);
    rmSync(dataDir, { recursive: true, force: true });
  };
  if (!keepIn) process.on('exit', removeWithUs);
  if (fresh) await removeUnused(dataDir);
  const superuser = isInitialised(dataDir) ? undefined : { user: SUPERUSER, password: randomPassword() };
  if (superuser) await initialise(programs, dataDir, superuser);

  const port = await freePort();
  // Throw-away data need not survive a power cut. It still survives a killed process.
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
 * Removes PGSSLMODE, PGOPTIONS and similar variables, which a developer has set for another database. node-postgres
 * uses them as defaults, and Postgres and initdb read some as well, so the local server might not start or might differ
 * from Neon.
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
  // initdb has configured the developer's time zone, but Neon runs in UTC.
  const clock = ['-c', 'timezone=UTC', '-c', 'log_timezone=UTC'];
  // Use a separate process group, because Ctrl-C in the terminal must not end the server while others need it.
  const child = spawn(postgres, ['-D', dataDir, ...listening, ...clock, ...flags], {
    ...owner,
    cwd: '/',
    detached: true,
  });
  const output = collect(child);
  const endWithUs = () => child.kill('SIGINT');
  // Prepend the listener, so that the server ends before its data is removed.
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
      `the data in ${dataDir} was made by another version of PostgreSQL: start over with npm run dev -- --fresh`,
    );
  }
  return new UserError(`PostgreSQL did not start: ${lastLine(output)}`);
}

/** A password for a new role. */
export function randomPassword(): string {
  return randomBytes(18).toString('base64url');
}
