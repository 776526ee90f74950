import pg from 'pg';
import type { Refusal } from './endpoint.ts';

/** The keys of an error besides its message. Neon always sends all of them. */
const KEYS = [
  'code',
  'detail',
  'hint',
  'position',
  'internalPosition',
  'internalQuery',
  'severity',
  'where',
  'table',
  'column',
  'schema',
  'dataType',
  'constraint',
  'file',
  'line',
  'routine',
] as const;

/** An error as Neon's proxy answers it. An error that is not from Postgres has an empty code and severity. */
export class NeonError extends Error {
  readonly status: number;
  readonly facts: object;

  constructor(status: number, message: string, facts: object = { code: '', severity: '' }) {
    super(message);
    this.status = status;
    this.facts = facts;
  }

  get body(): Refusal {
    const nothing = Object.fromEntries(KEYS.map((key) => [key, null])) as Pick<Refusal, 'code' | 'detail'>;
    return { message: this.message, ...nothing, ...this.facts };
  }

  /** An error while a statement ran. */
  static from(error: unknown): NeonError {
    if (error instanceof NeonError) return error;
    if (error instanceof pg.DatabaseError) return fromPostgres(400, error);
    // Postgres went away, which node-postgres reports as an error of its own.
    const message = error instanceof Error ? error.message : String(error);
    return new NeonError(400, `error communicating with the server: ${message}`);
  }

  /** An error while a connection to Postgres was opened. */
  static fromConnect(error: unknown, user: string): NeonError {
    if (!(error instanceof pg.DatabaseError)) return new NeonError(500, "Couldn't connect to compute node");
    // The proxy checks the password itself, and says the same for a role that does not exist.
    if (error.code === '28P01') return new NeonError(400, `password authentication failed for user '${user}'`);
    // For the proxy a database that does not exist is the user's mistake. Every other refusal of Postgres is a server
    // error: too many connections (53300), a role that may not log in (28000), starting up (57P03).
    return fromPostgres(error.code === '3D000' ? 400 : 500, error);
  }
}

function fromPostgres(status: number, error: pg.DatabaseError): NeonError {
  return new NeonError(status, error.message, Object.fromEntries(KEYS.map((key) => [key, error[key] ?? null])));
}
