import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { unescape as percentDecode } from 'node:querystring';
import pg from 'pg';
import * as v from 'valibot';
import type { Refusal } from './endpoint.ts';

export interface NeonQuery {
  readonly query: string;
  /** The driver sends every value as text. */
  readonly params: (string | null)[];
}

/** A single query or a batch. */
export interface NeonRequest extends Partial<NeonQuery> {
  readonly queries?: NeonQuery[];
}

export interface Connection {
  readonly user: string;
  readonly password: string;
  readonly database: string;
}

/** JSON.parse accepts half a surrogate pair ("\ud800"), but Neon's proxy refuses it. */
const Text = v.pipe(
  v.string(),
  v.check((text) => text.isWellFormed(), 'lone surrogate in a string'),
);
const Query = v.object({ query: Text, params: v.optional(v.array(v.nullable(Text)), []) });
/** Like Neon, treats a body with both keys as a single query. */
const Body = v.union([Query, v.object({ queries: v.array(Query) })]);

/** Neon passes only the role and the database of a connection string to Postgres. */
export function readConnection(headers: IncomingHttpHeaders): Connection {
  const url = URL.parse(String(headers['neon-connection-string']));
  if (!url?.username || !url.password || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw new NeonError(400, 'invalid connection string');
  }
  // Like Neon and unlike decodeURIComponent, this accepts a bare %.
  const [, database = ''] = url.pathname.split('/');
  return {
    user: percentDecode(url.username),
    password: percentDecode(url.password),
    database: percentDecode(database),
  };
}

/** Whether a batch may only read. Neon also supports isolation levels, which the engine doesn't use. */
export function isReadOnly(headers: IncomingHttpHeaders): boolean {
  return headers['neon-batch-read-only'] === 'true';
}

export async function readRequest(request: IncomingMessage, maxBytes: number): Promise<NeonRequest> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    // Read even a body that is too large to its end. Otherwise the connection could be reset before the sender has read
    // the answer.
    if (length <= maxBytes) chunks.push(chunk);
  }
  if (length > maxBytes) throw new NeonError(413, `request is too large (max is ${maxBytes} bytes)`);
  try {
    return v.parse(Body, JSON.parse(Buffer.concat(chunks).toString('utf8')));
  } catch (error) {
    throw new NeonError(400, `could not parse the HTTP request body: ${(error as Error).message}`);
  }
}

/** An error's keys besides its message. Neon always sends all of them. */
const KEYS =
  `code detail hint position internalPosition internalQuery severity where table column schema dataType constraint
  file line routine`.split(/\s+/) as (keyof pg.DatabaseError)[];

/** An error in the format of Neon's proxy. If it is not from Postgres, code and severity are empty. */
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

  /** Converts an error of a running statement. */
  static from(error: unknown): NeonError {
    if (error instanceof NeonError) return error;
    if (error instanceof pg.DatabaseError) return fromPostgres(400, error);
    // Postgres went away, which node-postgres reports with its own error.
    const message = error instanceof Error ? error.message : String(error);
    return new NeonError(400, `error communicating with the server: ${message}`);
  }

  /** Converts an error while connecting to Postgres. */
  static fromConnect(error: unknown, user: string): NeonError {
    if (!(error instanceof pg.DatabaseError)) return new NeonError(500, "Couldn't connect to compute node");
    // The proxy checks the password itself and answers the same for an unknown role.
    if (error.code === '28P01') return new NeonError(400, `password authentication failed for user '${user}'`);
    // The proxy treats an unknown database as the user's mistake, and every other refusal as a server error: too many
    // connections (53300), a role that may not log in (28000), starting up (57P03).
    return fromPostgres(error.code === '3D000' ? 400 : 500, error);
  }
}

function fromPostgres(status: number, error: pg.DatabaseError): NeonError {
  return new NeonError(status, error.message, Object.fromEntries(KEYS.map((key) => [key, error[key] ?? null])));
}
