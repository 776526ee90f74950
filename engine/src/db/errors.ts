import { NeonDbError } from '@neondatabase/serverless';
import { DrizzleQueryError, getTableName } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import { nameOf } from '../shared/log.ts';
import { COMPLETED_AT_MOST_ONCE, events, orderKeys, TURN_WAS_KEPT, webhooks } from './schema.ts';

interface Facts {
  /**
   * Whether the same request may succeed if it is sent again. It may also have committed already. The cause is unknown:
   * Postgres may be down or overloaded, or the statement may always fail like this.
   */
  readonly retryable: boolean;
  /** SQLSTATE, if Postgres gave one. */
  readonly code?: string | undefined;
  /** The violated constraint, and its table with the schema: `webhooks.events`. */
  readonly constraint?: string | undefined;
  readonly table?: string | undefined;
  /** The index in `conditions` of the event's `must()` that was not met. */
  readonly unmetCondition?: number | undefined;
  /** Whether Neon itself refuses the data. There is no SQLSTATE in this case. */
  readonly isAboutData?: boolean;
}

/**
 * A database error reduced to what may be logged and stored: without SQL, parameters, the URL, or Postgres's messages,
 * which quote values.
 */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
  readonly retryable: boolean;
  readonly code: string | undefined;
  readonly constraint: string | undefined;
  readonly table: string | undefined;
  readonly unmetCondition: number | undefined;
  /**
   * Whether Postgres or Neon refuses the data itself (its type, its size or a constraint), so that the same data can
   * never succeed.
   */
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

  /**
   * A full Neon project refuses writes that need more space. Small updates may still succeed, so a success doesn't mean
   * that there is space.
   */
  get isOutOfSpace(): boolean {
    return this.code === '53100';
  }

  /** Whether an error came from the database. An error while building a statement did not. */
  static isFromDatabase(error: unknown): boolean {
    try {
      return error instanceof DatabaseError || error instanceof DrizzleQueryError;
    } catch {
      // A handler may throw a Proxy that throws even on `instanceof`.
      return false;
    }
  }

  static isRetryable(error: unknown): boolean {
    return DatabaseError.isFromDatabase(error) && DatabaseError.fromThrown(error).retryable;
  }

  /** Reduces anything that was thrown while a statement was built or sent. */
  static fromThrown(error: unknown): DatabaseError {
    // Drizzle wraps the errors of single queries, but not of a batch.
    const cause = error instanceof DrizzleQueryError ? error.cause : error;
    if (cause instanceof DatabaseError) return cause;
    return new DatabaseError(`unexpected ${kindOf(cause)}`, { retryable: false });
  }

  /**
   * Reduces an error of Neon's driver. The driver wraps every error of `fetch`, and client.ts checks every answer, so
   * any other error is a bug in our code. It is returned unchanged, because the log needs its name and position.
   */
  static fromDriver(error: unknown): unknown {
    if (!(error instanceof NeonDbError)) return error;
    if (error.sourceError) return fromFetch(error.sourceError);
    // With a code, Postgres has refused the statement. Without one, Neon's proxy has.
    if (error.code) return fromPostgres(error.code, error);
    // The driver puts an unusual status only into its message.
    const status = /HTTP status (\d{3})/.exec(error.message)?.[1];
    return status === undefined ? fromProxy(error.message) : fromStatus(Number(status), error.message);
  }
}

/** Postgres's code for a write in a read-only transaction. */
export const WRITE_REFUSED = '25006';
/** "Invalid transaction termination". We use Postgres's code for our own refusal. */
export const TRANSACTION_CONTROL_REFUSED = '2D000';

/**
 * Whether the event has been completed before, or its row is gone (only finished events are ever deleted). Matches the
 * constraint by name, because any other violation is a failure, and by table, because the app may have a constraint of
 * the same name.
 */
export function isCompletedBefore(error: unknown): boolean {
  if (!(error instanceof DatabaseError)) return false;
  if (error.code === MISCOUNTED) return true;
  return error.code === '23514' && error.constraint === COMPLETED_AT_MOST_ONCE && error.table === nameOfTable(events);
}

/** Whether another run has completed an event of the same order key since this one was loaded. */
export function isTurnLost(error: unknown): boolean {
  if (!(error instanceof DatabaseError) || error.table !== nameOfTable(orderKeys)) return false;
  // 23505 happens if two runs both found no row and inserted one.
  return (error.code === '23514' && error.constraint === TURN_WAS_KEPT) || error.code === '23505';
}

const nameOfTable = (table: PgTable) => `${webhooks.schemaName}.${getTableName(table)}`;

/**
 * Connection lost (class 08), read-only server (25006), serialization failure, deadlock, no space, memory or connections
 * left (53), canceled or shut down (57), errors of the system (58) and of Postgres or Neon themselves (XX000).
 */
const RETRYABLE = /^(08...|25006|40001|40P01|53...|57...|58...|XX000)$/;

const NOT_UP_TO_DATE =
  ": there is no such table or column. Either the statement misspells it, or migrations are missing: npm run db:migrate (or npm run deploy) applies the engine's and yours. If you have changed a table, run npm run db:generate first";

/** Steps that may have been forgotten when the database was set up. */
const HINTS: Readonly<Record<string, string>> = {
  '3F000': NOT_UP_TO_DATE,
  '42P01': NOT_UP_TO_DATE,
  '42703': NOT_UP_TO_DATE,
  '42501':
    ": the Worker's role lacks a right. If it needs this right, npm run db:roles grants it (as the owner of the tables)",
};

/** The text with which an unmet condition fails (`asCondition` in user-statement.ts), before its index. */
export const UNMET_CONDITION = 'claimcheck: unmet condition ';
/** Postgres quotes the text at the end of its message. The words and quotation marks depend on `lc_messages`. */
const UNMET = new RegExp(`${UNMET_CONDITION}(\\d+), rows: 0\\W*$`);

/**
 * A completion fails with this code if it changed fewer rows than it should (`complete` in events.ts). Only `nth_value`
 * raises it. A message would be unsafe, because messages can quote a sender's text.
 */
const MISCOUNTED = '22016';

/** A loopback host refuses connections, so the developer has probably forgotten to start the database. */
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

/** Neon's proxy answers 400 with an empty code both if it refuses us and if a pooled connection has died. */
function fromProxy(message: string): DatabaseError {
  if (/connection closed|error communicating with the server/i.test(message)) {
    return new DatabaseError('the connection to Postgres was lost', { retryable: true });
  }
  if (/could not parse/i.test(message)) {
    return new DatabaseError(
      'Neon could not parse the request because a parameter contains half a character (a lone surrogate)',
      { retryable: false, isAboutData: true },
    );
  }
  if (/unexpected message from server/i.test(message)) {
    return new DatabaseError('Neon does not support COPY', { retryable: false });
  }
  if (/encoding message to server/i.test(message)) {
    return new DatabaseError('a statement has more than 32,767 parameters, which is the limit of Neon', {
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
