import { NeonDbError } from '@neondatabase/serverless';
import { DrizzleQueryError, getTableName } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import { nameOf } from '../shared/log.ts';
import { COMPLETED_AT_MOST_ONCE, events, orderKeys, TURN_WAS_KEPT, webhooks } from './schema.ts';

interface Facts {
  /**
   * Whether the same request may succeed if sent again. It may also have committed already. Such an error doesn't say
   * whose fault it is: Postgres may be away or overloaded, or the statement may be one that always ends like this.
   */
  readonly retryable: boolean;
  /** SQLSTATE, if Postgres gave one. */
  readonly code?: string | undefined;
  /** The broken constraint, and its table with the schema: `webhooks.events`. */
  readonly constraint?: string | undefined;
  readonly table?: string | undefined;
  /** Which `must()` of the event was not met: its index in `conditions`. */
  readonly unmetCondition?: number | undefined;
  /** Whether Neon refuses the data itself, which has no SQLSTATE then. */
  readonly isAboutData?: boolean;
}

/**
 * A database error, reduced to what may be logged and stored: without SQL, parameters, the URL, and the messages of
 * Postgres, which quote values.
 */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
  readonly retryable: boolean;
  readonly code: string | undefined;
  readonly constraint: string | undefined;
  readonly table: string | undefined;
  readonly unmetCondition: number | undefined;
  /** Whether Postgres or Neon refuses the data itself (its kind, a constraint, its size): the same data never succeeds. */
  readonly isAboutData: boolean;

  constructor(message: string, facts: Facts) {
    super(message);
    this.retryable = facts.retryable;
    this.code = facts.code;
    this.constraint = facts.constraint;
    this.table = facts.table;
    this.unmetCondition = facts.unmetCondition;
    this.isAboutData = facts.isAboutData ?? /^(22|23|54)/.test(facts.code ?? '');
  }

  /** A full project refuses what needs more space. Small updates still succeed, so they prove nothing. */
  get isOutOfSpace(): boolean {
    return this.code === '53100';
  }

  /** Whether an error came from the database. An error in building a statement did not. */
  static isFromDatabase(error: unknown): boolean {
    try {
      return error instanceof DatabaseError || error instanceof DrizzleQueryError;
    } catch {
      // A handler may throw a Proxy, which can answer even this question with an error.
      return false;
    }
  }

  static isRetryable(error: unknown): boolean {
    return DatabaseError.isFromDatabase(error) && DatabaseError.fromThrown(error).retryable;
  }

  /** Reduces anything that was thrown while a statement was built or sent. */
  static fromThrown(error: unknown): DatabaseError {
    // Drizzle wraps the errors of single queries, but not those of a batch.
    const cause = error instanceof DrizzleQueryError ? error.cause : error;
    if (cause instanceof DatabaseError) return cause;
    return new DatabaseError(`unexpected ${kindOf(cause)}`, { retryable: false });
  }

  /**
   * What Neon's driver threw, reduced. It wraps every error of `fetch`, and client.ts checks what it reads, so any bare error
   * is a mistake in our code, whose log line needs its name and position: it stays as it is.
   */
  static fromDriver(error: unknown): unknown {
    if (!(error instanceof NeonDbError)) return error;
    if (error.sourceError) return fromFetch(error.sourceError);
    // Postgres has refused the statement or, without a code, Neon's proxy has.
    if (error.code) return fromPostgres(error.code, error);
    // The driver writes an unusual status into its message, and nowhere else.
    const status = /HTTP status (\d{3})/.exec(error.message)?.[1];
    return status === undefined ? fromProxy(error.message) : fromStatus(Number(status), error.message);
  }
}

/** Postgres refuses a write in a read-only transaction with this code. */
export const WRITE_REFUSED = '25006';
/** "Invalid transaction termination": our own refusal has the code that Postgres would use. */
export const TRANSACTION_CONTROL_REFUSED = '2D000';

/**
 * Whether the error says that this event has been completed before, or that its row is gone: only what is finished is
 * ever deleted. The constraint is matched by name, because any other violation is a failure; also by table, because a
 * table of the app may have a constraint of the same name.
 */
export function isCompletedBefore(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  if (error.code === MISCOUNTED) return true;
  return error.code === '23514' && error.constraint === COMPLETED_AT_MOST_ONCE && error.table === nameOfTable(events);
}

/** Whether the error says that another run has completed an event of the same order key since this one was loaded. */
export function isTurnLost(error: unknown): boolean {
  if (!(error instanceof DatabaseError) || error.table !== nameOfTable(orderKeys)) return false;
  // The second is of two runs of which each has found no row.
  return (error.code === '23514' && error.constraint === TURN_WAS_KEPT) || error.code === '23505';
}

const nameOfTable = (table: PgTable) => `${webhooks.schemaName}.${getTableName(table)}`;

/**
 * Connection lost (class 08), read-only server (25006), serialization failure, deadlock, no space, memory or connections
 * left (53), canceled or shut down (57), errors of the system (58) and of Postgres or Neon themselves (XX000).
 */
const RETRYABLE = /^(08...|25006|40001|40P01|53...|57...|58...|XX000)$/;

const NOT_UP_TO_DATE =
  ": there is no such table or column. Either the statement misspells it, or the tables are missing or not up to date: npm run db:migrate (or npm run deploy) applies the engine's migrations and yours; after a change of a table of yours, npm run db:generate comes first";

/** What the person who set the database up may have forgotten. */
const HINTS: Readonly<Record<string, string>> = {
  '3F000': NOT_UP_TO_DATE,
  '42P01': NOT_UP_TO_DATE,
  '42703': NOT_UP_TO_DATE,
  '42501':
    ": the Worker's role lacks a right. If it needs this right, npm run db:roles grants it (as the owner of the tables)",
};

/** The beginning of the text that a condition fails with (`asCondition` in user-statement.ts), before its index. */
export const UNMET_CONDITION = 'claimcheck: unmet condition ';
/** Postgres quotes the text at the end of its message, in the words and with the quotation marks of `lc_messages`. */
const UNMET = new RegExp(`${UNMET_CONDITION}(\\d+), rows: 0\\W*$`);

/**
 * A completion fails with this code if it changed fewer rows than it was given (`complete` in events.ts). Only `nth_value`
 * raises it. A message would not do: it quotes texts of senders that an app casts, and they could say the same.
 */
const MISCOUNTED = '22016';

/** A loopback host takes no connection: a developer has forgotten to start the database. */
export class NotRunning extends Error {}

function fromFetch(error: unknown): DatabaseError {
  if (error instanceof SyntaxError) {
    return new DatabaseError('something else answered in place of Neon', { retryable: true });
  }
  const isLate = ['TimeoutError', 'AbortError'].includes(kindOf(error));
  const away = 'Postgres could not be reached';
  const remedy = error instanceof NotRunning ? ': is the local database running? npm run db starts it' : '';
  const message = isLate ? 'Postgres did not answer in time' : away + remedy;
  return new DatabaseError(message, { retryable: true });
}

function fromStatus(status: number, text: string): DatabaseError {
  if (status === 413 || status === 507) {
    const what = status === 413 ? 'request' : 'answer';
    return new DatabaseError(`Neon refused the size of the ${what}`, { retryable: false, isAboutData: true });
  }
  if (/quota/i.test(text)) return new DatabaseError('the Neon plan is used up', { retryable: false });
  return new DatabaseError(`Neon answered ${status}`, { retryable: true });
}

function fromPostgres(code: string, error: NeonDbError): DatabaseError {
  const hint = HINTS[code] ?? '';
  const constraint = error.constraint ?? undefined;
  const table = error.table ? `${error.schema}.${error.table}` : undefined;
  const broken = constraint ? ` (constraint ${constraint})` : '';
  const message = `Postgres refused with SQLSTATE ${code}${broken}${hint}`;
  const unmet = UNMET.exec(error.message)?.[1];
  const unmetCondition = unmet === undefined ? undefined : Number(unmet);
  const retryable = RETRYABLE.test(code);
  return new DatabaseError(message, { retryable, code, constraint, table, unmetCondition });
}

/** Neon's proxy answers 400 with an empty code both when it refuses us and when a pooled connection has died. */
function fromProxy(message: string): DatabaseError {
  if (/connection closed|error communicating with the server/i.test(message)) {
    return new DatabaseError('the connection to Postgres was lost', { retryable: true });
  }
  if (/could not parse/i.test(message)) {
    return new DatabaseError(
      'Neon could not parse the request: a parameter is not well-formed text, because it holds half a character (a lone surrogate)',
      { retryable: false, isAboutData: true },
    );
  }
  if (/unexpected message from server/i.test(message)) {
    return new DatabaseError('Neon takes no COPY statement', { retryable: false });
  }
  if (/encoding message to server/i.test(message)) {
    return new DatabaseError('a statement has more than 32,767 parameters, and Neon takes no more', {
      retryable: false,
    });
  }
  const why = /password authentication failed/i.test(message)
    ? 'the role or password in DATABASE_URL is wrong'
    : 'the endpoint, role or database in DATABASE_URL is not accepted';
  return new DatabaseError(`Neon refused the request: ${why}`, { retryable: false });
}

function kindOf(error: unknown): string {
  return error instanceof Error || error instanceof DOMException ? nameOf(error) : typeof error;
}
