import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { unescape as percentDecode } from 'node:querystring';
import pg from 'pg';
import * as v from 'valibot';
import type { Refusal } from './endpoint.ts';

export interface NeonQuery {
  readonly query: string;
  /** The driver writes every value as text. */
  readonly params: (string | null)[];
}

/** Either a single query, or a batch of them. */
export interface NeonRequest extends Partial<NeonQuery> {
  readonly queries?: NeonQuery[];
}

export interface Connection {
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** JSON can escape half a surrogate pair ("\ud800"), and JSON.parse accepts it. Neon's proxy refuses it. */
const Text = v.pipe(
  v.string(),
  v.check((text) => text.isWellFormed(), 'lone surrogate in a string'),
);
const Query = v.object({ query: Text, params: v.optional(v.array(v.nullable(Text)), []) });
/** A body with both keys is a single query. */
const Body = v.union([Query, v.object({ queries: v.array(Query) })]);

/** Of everything that a connection string can say, Neon passes only the role and the database on to Postgres. */
export function readConnection(headers: IncomingHttpHeaders): Connection {
  const url = URL.parse(String(headers['neon-connection-string']));
  if (!url?.username || !url.password || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new NeonError(400, 'invalid connection string');
  }
  // Unlike decodeURIComponent, this leaves a bare % as it is, and so does Neon.
  const [, database = ''] = url.pathname.split('/');
  return {
    user: percentDecode(url.username),
    password: percentDecode(url.password),
    database: percentDecode(database),
  };
}

/** Whether a batch may only read. Nobody here asks for another isolation level, which Neon would take as well. */
export function isReadOnly(headers: IncomingHttpHeaders): boolean {
  return headers['neon-batch-read-only'] === 'true';
}

export async function readRequest(request: IncomingMessage, maxBytes: number): Promise<NeonRequest> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    // A body that is too large is still read to its end. Otherwise the connection could be reset before the sender has
    // read the answer.
    if (length <= maxBytes) chunks.push(chunk);
  }
  if (length > maxBytes) throw new NeonError(413, `request is too large (max is ${maxBytes} bytes)`);
  try {
    return v.parse(Body, JSON.parse(Buffer.concat(chunks).toString('utf8')));
  } catch (error) {
    throw new NeonError(400, `could not parse the HTTP request body: ${(error as Error).message}`);
  }
}

/** The keys of an error besides its message. Neon always sends all of them. */
const KEYS =
  `code detail hint position internalPosition internalQuery severity where table column schema dataType constraint
  file line routine`.split(/\s+/) as (keyof pg.DatabaseError)[];

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
