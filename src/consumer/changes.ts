import { is, SQL } from 'drizzle-orm';
import { DatabaseError, TRANSACTION_CONTROL_REFUSED, WRITE_REFUSED } from '../db/errors.ts';
import { controlsTransaction, hasPlaceholder, type Query, queryOf } from '../db/statement.ts';
import { Effect, PermanentError } from '../kit/index.ts';
import { isStorableText } from '../queue/tickets.ts';

/** A transaction is given up after 10 s, and holds its locks until then. 1,000 statements leave room on a slow day. */
const MAX_CHANGES = 1000;

/** What a handler returned, checked. */
export interface CheckedChanges {
  /** Text and parameters of its statements. To build them takes longer than anything else here, so it happens once. */
  readonly statements: readonly Query[];
  readonly effects: readonly Effect[];
}

/** Checks what a handler returned. Another try can't correct a mistake in it, so the error is permanent and says what to return. */
export function checkChanges(answer: unknown): CheckedChanges {
  if (!Array.isArray(answer)) {
    throw new PermanentError(`the handler returned ${kindOf(answer)}: return an array of changes, or [] for none`);
  }
  if (answer.length > MAX_CHANGES) {
    const advice = 'write many rows with one statement, as with insert … values (…), (…)';
    throw new PermanentError(
      `the handler returned ${answer.length} changes, and ${MAX_CHANGES} is the limit: ${advice}`,
    );
  }
  const statements: Query[] = [];
  const effects: Effect[] = [];
  // `entries` also visits the holes of an array, which are mistakes too.
  for (const [index, change] of answer.entries()) {
    // The runtime would log the error of a promise that nobody awaits, and with it the parameters of a statement.
    if (change instanceof Promise) change.catch(() => {});
    const query = change instanceof Effect ? undefined : queryOf(change);
    const problem = change instanceof Effect ? problemOfEffect(change) : problemOfStatement(change, query);
    if (problem) throw new PermanentError(`change ${index + 1} of ${answer.length} ${problem}`);
    if (query) statements.push(query);
    else effects.push(change);
  }
  return { statements, effects };
}

/** If a handler's own query was refused because it was not a read, the returned error says what to do instead. */
export function explainRefusal(error: unknown): unknown {
  const code = DatabaseError.isCauseOf(error) ? DatabaseError.from(error).code : undefined;
  if (code === WRITE_REFUSED) {
    return new PermanentError(
      "the handler's db only reads: return the statement in an array, don't await it (an async function that returns a statement without an array awaits it, too)",
    );
  }
  if (code === TRANSACTION_CONTROL_REFUSED)
    return new PermanentError(`the handler awaited a statement that ${CONTROL}`);
  return error;
}

const CONTROL =
  'begins, ends or changes a transaction: remove it, because all changes of the event are committed in one transaction anyway';

function problemOfStatement(change: unknown, query: Query | undefined): string | undefined {
  if (query === undefined) {
    return `is ${kindOf(change)}: a change is a statement (db.insert(…).values(…), db.execute(sql\`…\`)) or an effect`;
  }
  if (controlsTransaction(query.sql)) return `is a statement that ${CONTROL}`;
  if (hasPlaceholder(query)) return 'has an sql.placeholder() without a value: put the value there';
  const params = query.params.flat(Number.POSITIVE_INFINITY);
  if (!params.every((param) => typeof param !== 'string' || isStorableText(param)))
    return `has a parameter with ${NO_TEXT}`;
  const objects = params.filter((param) => typeof param === 'object');
  if (!isJson(objects)) return `has a parameter that ${NO_JSON}`;
  return undefined;
}

function problemOfEffect({ name, payload }: Effect): string | undefined {
  if (!isStorableText(name)) return `is an effect whose name is not a text, or is one with ${NO_TEXT}`;
  return isJson(payload) ? undefined : `is the effect ${name}, whose payload ${NO_JSON}`;
}

const NO_TEXT = 'NUL or half a character (a lone surrogate), which Postgres can not store';

const NO_JSON = 'can not be written as JSON (an object that contains itself, or a bigint)';

function isJson(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Effect) return 'an effect';
  if (value instanceof Promise) return 'a promise';
  if (queryOf(value)) return 'a statement';
  if (is(value, SQL)) return 'sql`…` without db.execute()';
  return typeof value === 'object'
    ? `an object (${value.constructor?.name ?? 'without a class'})`
    : `a ${typeof value}`;
}
