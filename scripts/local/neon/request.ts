import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { unescape as percentDecode } from 'node:querystring';
import pg from 'pg';
import * as v from 'valibot';
import type { Refusal } from './endpoint.ts';

// Node has it. TypeScript's library does not know it yet.
const { rawJSON } = JSON as JSON & { rawJSON(text: string): object };

const MIN_I64 = -(2n ** 63n);
const MAX_U64 = 2n ** 64n - 1n;

export interface NeonQuery {
  readonly query: string;
  readonly params: unknown[];
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

export interface Transaction {
  /** The statement that begins it. */
  readonly begin: string;
  /** The headers that asked for it, which the answer repeats. */
  readonly headers: Record<string, string>;
}

const ISOLATION = new Map([
  ['ReadUncommitted', 'READ UNCOMMITTED'],
  ['ReadCommitted', 'READ COMMITTED'],
  ['RepeatableRead', 'REPEATABLE READ'],
  ['Serializable', 'SERIALIZABLE'],
]);

const Query = v.object({ query: v.string(), params: v.optional(v.array(v.unknown()), []) });
/** A body with both keys is a single query. */
const Body = v.union([Query, v.object({ queries: v.array(Query) })]);

/** Of everything that a connection string can say, Neon passes only the role and the database on to Postgres. */
export function readConnection(headers: IncomingHttpHeaders): Connection {
  const text = headerOf(headers, 'neon-connection-string');
  if (text === undefined) throw new NeonError(400, 'invalid header: neon-connection-string');
  if (!URL.canParse(text)) throw new NeonError(400, 'invalid connection string: it is not a URL');
  const url = new URL(text);
  if (!/^postgres(ql)?:$/.test(url.protocol)) throw new NeonError(400, 'incorrect scheme');
  if (!url.username) throw new NeonError(400, 'missing username');
  // An Authorization header would be a JWT, which Neon takes on another host.
  if (!url.password || headers.authorization !== undefined) {
    throw new NeonError(400, 'missing authentication credentials: required password');
  }
  // Unlike decodeURIComponent, this leaves a bare % as it is, and so does Neon.
  const [, database = ''] = url.pathname.split('/');
  return {
    user: percentDecode(url.username),
    password: percentDecode(url.password),
    database: percentDecode(database),
  };
}

/** The proxy checks these headers for a single query as well, though they only matter to a batch. */
export function readTransaction(headers: IncomingHttpHeaders): Transaction {
  const level = headerOf(headers, 'neon-batch-isolation-level');
  const isolation = ISOLATION.get(level ?? '');
  if (level !== undefined && isolation === undefined) throw new NeonError(400, 'invalid isolation level');
  const isTrue = (name: string) => headerOf(headers, name) === 'true';
  const modes = [
    { name: 'neon-batch-isolation-level', sql: `ISOLATION LEVEL ${isolation}`, asked: isolation !== undefined },
    { name: 'neon-batch-read-only', sql: 'READ ONLY', asked: isTrue('neon-batch-read-only') },
    { name: 'neon-batch-deferrable', sql: 'DEFERRABLE', asked: isTrue('neon-batch-deferrable') },
  ].filter(({ asked }) => asked);
  return {
    begin: `START TRANSACTION ${modes.map(({ sql }) => sql).join(', ')}`,
    headers: Object.fromEntries(modes.map(({ name }) => [name, headerOf(headers, name) ?? ''])),
  };
}

export async function readBody(request: IncomingMessage, maxBytes: number): Promise<NeonRequest> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    // A body that is too large is still read to its end. Otherwise the connection could be reset before the sender has
    // read the answer.
    if (length <= maxBytes) chunks.push(chunk);
  }
  if (length > maxBytes) throw new NeonError(413, `request is too large (max is ${maxBytes} bytes)`);
  const body = v.safeParse(Body, parseJson(Buffer.concat(chunks)));
  if (!body.success) throw unparsable('neither a query nor a batch of queries');
  return body.output;
}

function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  return headers[name] === undefined ? undefined : [headers[name]].flat().join();
}

/**
 * Parses a request's body as strictly as Neon's proxy does, which is stricter than JSON.parse.
 *
 * A number becomes a raw JSON object that JSON.stringify writes as it was sent: a JavaScript number would lose the
 * digits of integers beyond 2^53.
 */
function parseJson(body: Buffer): unknown {
  if (!isUtf8(body)) throw unparsable('not UTF-8');
  try {
    return JSON.parse(body.toString('utf8'), reviver);
  } catch (error) {
    throw error instanceof SyntaxError ? unparsable(error.message) : error;
  }
}

function unparsable(why: string): NeonError {
  return new NeonError(400, `could not parse the HTTP request body: ${why}`);
}

function reviver(key: string, value: unknown, context?: { source?: string }): unknown {
  // JSON can escape half a surrogate pair ("\ud800"), and JSON.parse accepts it. Rust strings can't hold it.
  for (const text of [key, value]) {
    if (typeof text === 'string' && !text.isWellFormed()) throw unparsable('lone surrogate in a string');
  }
  return typeof value === 'number' ? rawNumber(value, context?.source ?? '') : value;
}

function rawNumber(value: number, source: string): object {
  if (!Number.isFinite(value)) throw unparsable('number out of range');
  // The proxy keeps integers of up to 64 bits. Larger ones become floating-point numbers there.
  const integer = /^-?\d+$/.test(source) ? BigInt(source) : 0n;
  return rawJSON(integer < MIN_I64 || integer > MAX_U64 ? String(value) : source);
}

/** Parameters arrive as JSON. Postgres gets them as text. */
export function toText(value: unknown): string | null {
  if (value === null) return null;
  if (Array.isArray(value)) return `{${value.map(arrayItem).join(',')}}`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function arrayItem(value: unknown): string {
  if (value === null) return 'NULL';
  if (Array.isArray(value)) return toText(value) ?? 'NULL';
  // An object becomes JSON in a quoted string.
  return JSON.stringify(typeof value === 'object' ? JSON.stringify(value) : value);
}

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
