import { NeonDbError } from '@neondatabase/serverless';
import { DrizzleQueryError } from 'drizzle-orm';

interface Facts {
  /** Whether the same request may succeed if sent again. It may also have committed already. */
  readonly retryable: boolean;
  /** SQLSTATE, where Postgres gave one. */
  readonly code?: string;
  readonly constraint?: string;
}

/**
 * What is left of a database error once it has passed the door: no SQL, no parameter, no message of Postgres
 * (they quote values), no URL.
 */
export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
  readonly retryable: boolean;
  readonly code: string | undefined;
  readonly constraint: string | undefined;

  constructor(message: string, facts: Facts) {
    super(message);
    this.retryable = facts.retryable;
    this.code = facts.code;
    this.constraint = facts.constraint;
  }

  /** Whether Postgres refuses the data itself (its kind, a constraint, its size): the same data never succeeds. */
  get isAboutData(): boolean {
    return /^(22|23|54)/.test(this.code ?? '');
  }

  /** Whether an error came from the database at all: a mistake in building a statement did not. */
  static isCauseOf(error: unknown): boolean {
    try {
      return error instanceof DatabaseError || error instanceof DrizzleQueryError || error instanceof NeonDbError;
    } catch {
      // A handler may throw a Proxy, which can answer even this question with an error.
      return false;
    }
  }

  static from(error: unknown): DatabaseError {
    const cause = unwrap(error);
    if (cause instanceof DatabaseError) return cause;
    // What answered wasn't JSON, and so wasn't Neon: the driver lets the parser's error through.
    if (cause instanceof SyntaxError)
      return new DatabaseError('something else answered in place of Neon', { retryable: true });
    if (!(cause instanceof NeonDbError)) return new DatabaseError(`unexpected ${nameOf(cause)}`, { retryable: false });
    const code = textOf(cause, 'code');
    const message = textOf(cause, 'message') ?? '';
    if (code) return fromPostgres(code, textOf(cause, 'constraint'));
    if (code === '') return fromProxy(message);
    return fromHttp(message);
  }
}

/** Postgres refuses a write in a read-only transaction with this code. */
export const WRITE_REFUSED = '25006';
/** "Invalid transaction termination": our own refusal has the code that Postgres would use. */
export const TRANSACTION_CONTROL_REFUSED = '2D000';

/** True where the error says that this event has been completed before. Matched by name: any other violation is a bug. */
export function isCompletedBefore(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === '23514' && error.constraint === 'completed_at_most_once';
}

/** Serialization failure, deadlock, shutdown, starting up; and all connection exceptions (class 08). */
const RETRYABLE = /^(40001|40P01|57P01|57P03|08...)$/;

function fromPostgres(code: string, constraint: string | undefined): DatabaseError {
  const hint = code === '42P01' || code === '42703' ? ': the tables are not up to date, run npm run db:migrate' : '';
  const broken = constraint ? ` (constraint ${constraint})` : '';
  return new DatabaseError(`Postgres refused with SQLSTATE ${code}${broken}${hint}`, {
    retryable: RETRYABLE.test(code),
    code,
    ...(constraint ? { constraint } : {}),
  });
}

/** Neon's proxy answers 400 with an empty code both when it refuses us and when a pooled connection has died. */
function fromProxy(message: string): DatabaseError {
  if (/connection closed|error communicating with the server/i.test(message)) {
    return new DatabaseError('the connection to Postgres was lost', { retryable: true });
  }
  const why = /password authentication failed/i.test(message)
    ? 'the role or password in DATABASE_URL is wrong'
    : 'the endpoint, role or database in DATABASE_URL is not accepted';
  return new DatabaseError(`Neon refused the request: ${why}`, { retryable: false });
}

function fromHttp(message: string): DatabaseError {
  const status = /HTTP status (\d{3})/.exec(message)?.[1];
  if (status === '413' || status === '507') {
    return new DatabaseError(`Neon refused the size of the ${status === '413' ? 'request' : 'answer'}`, {
      retryable: false,
    });
  }
  if (/quota/i.test(message)) return new DatabaseError('the Neon plan is used up', { retryable: false });
  return new DatabaseError(status ? `Neon answered ${status}` : 'Postgres could not be reached', { retryable: true });
}

/** Drizzle wraps the errors of single queries, but not those of a batch. */
function unwrap(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? error.cause : error;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : typeof error;
}

function textOf(error: unknown, key: string): string | undefined {
  const value = typeof error === 'object' && error !== null ? Reflect.get(error, key) : undefined;
  return typeof value === 'string' ? value : undefined;
}
