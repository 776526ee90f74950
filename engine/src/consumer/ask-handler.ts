import { is, SQL } from 'drizzle-orm';
import { DatabaseError, TRANSACTION_CONTROL_REFUSED, WRITE_REFUSED } from '../db/errors.ts';
import type { Completion, LoadedEvent, WorkableEvent } from '../db/events.ts';
import type { Query } from '../db/sql.ts';
import {
  asCondition,
  controlsTransaction,
  hasPlaceholder,
  namesEngine,
  queryOf,
  returningRows,
} from '../db/user-statement.ts';
import { placeAt, withFailure } from '../kit/errors.ts';
import { Cancel, Effect, type Event, type Handler, Must, PermanentError, type Tools } from '../kit/index.ts';
import { covers } from '../shared/event-types.ts';
import { parseJson } from '../shared/json.ts';
import { ofTenant } from '../shared/tenants.ts';
import { isStorableText } from '../shared/text.ts';
import { problemOfKey, problemOfOptions, timeOf } from './effect-options.ts';
import { handlerOf, handlersIn } from './find-handler.ts';
import type { ConsumerDependencies } from './portions.ts';
import { tenantOf } from './tenant-of.ts';

/** The changes that a handler returned, checked. An event that nobody wants is `ignored`, which is not an error. */
export interface HandlerResult extends Completion {
  /** One for each `must()`, in the order of the statements. */
  readonly conditions: readonly Condition[];
  /** If the handler is a list: the names of its handlers, for an error that is about the changes of all of them. */
  readonly handlers?: string;
}

export interface Condition {
  readonly error: Error;
  /** Which handler of a list asked for it. */
  readonly handler: string | undefined;
}

/**
 * Asks the event's handler what to change, or those of a list one after the other. Throws what a handler throws. `onAsk` gets
 * the name of each handler of a list before it is asked.
 */
export async function askHandler(
  loaded: WorkableEvent,
  { handlers, sources }: Pick<ConsumerDependencies, 'handlers' | 'sources'>,
  tools: Tools,
  onAsk: (handler: string) => void,
): Promise<HandlerResult> {
  const { source, eventId, originalId, type, receivedAt, occurredAt, orderKey, late, body, headers } = loaded;
  const entry = handlerOf(loaded, handlers);
  if (entry === undefined) {
    const summary = `no handler for ${source}/${type ?? '(no type)'}`;
    const expected = whyExpected(loaded, sources);
    if (expected !== undefined) throw withFailure(new PermanentError(`${summary}, ${expected}`), 'no_handler');
    return { source, eventId, status: 'ignored', summary, statements: [], effects: [], conditions: [] };
  }
  const tenant = tenantOf(loaded, { sources });
  const isBelievable = occurredAt !== null && occurredAt.getTime() - receivedAt.getTime() <= MAX_AHEAD_MS;
  const event: Omit<Event, 'data'> = {
    source,
    id: originalId ?? eventId,
    tenant,
    type,
    occurredAt: isBelievable ? occurredAt : receivedAt,
    receivedAt,
    orderKey,
    late,
    raw: body,
    headers,
  };
  const changes: Changes = { statements: [], effects: [], cancels: [], conditions: [] };
  const asked = handlersIn(entry);
  for (const [name, handler] of asked) {
    if (name !== undefined) onAsk(name);
    if (typeof handler?.handle !== 'function') throw notAHandler(`there is ${kindOf(handler)} instead of a handler`);
    // Each gets a payload of its own: what one handler does to it, no other sees.
    const data = await dataOf(body, handler);
    addChanges(changes, await returnedBy(handler, { ...event, data }, tools), {
      handler: name,
      tenant,
      now: tools.now,
    });
  }
  if (asked.length === 0) throw notAHandler(`the handler of ${source}/${type ?? '(no type)'} is empty`);
  const { statements, effects, cancels } = changes;
  const count = `${statements.length} ${statements.length === 1 ? 'change' : 'changes'}`;
  return {
    source,
    eventId,
    status: 'done',
    summary: [count, ...effects.map(({ name }) => name), ...cancels.map(({ kind }) => `cancels ${kind}`)].join(', '),
    ...changes,
    ...(asked.length > 1 && { handlers: asked.map(([name]) => name).join(' or ') }),
  };
}

function notAHandler(problem: string): Error {
  return withFailure(new PermanentError(`${problem}: look at src/handlers/index.ts`), 'no_handler');
}

/** Clocks differ by minutes, and a wrong time zone by hours. */
export const MAX_AHEAD_MS = 86_400_000;

/** Why an event without a handler is a mistake: it was misspelt, renamed or forgotten. `undefined` if nobody wants it. */
function whyExpected({ source, type, failure }: LoadedEvent, sources: ConsumerDependencies['sources']) {
  const configured = Object.hasOwn(sources, source) ? sources[source] : undefined;
  if (configured === undefined) return 'and src/sources.ts has no such source';
  const { types } = configured;
  // With '*', the source doesn't say what it wants.
  if (types !== '*' && types.some((expected) => covers(expected, type)))
    return 'although src/sources.ts names this type';
  // A suspected replay has not failed: it was only parked.
  return failure !== null && failure !== 'replay' ? 'although it had one when it failed' : undefined;
}

async function dataOf(raw: string, handler: Handler): Promise<unknown> {
  const parsed = parseJson(raw);
  if (parsed.outcome === 'malformed') throw withFailure(new PermanentError('the body is not JSON'), 'schema');
  return matching(parsed.json, handler, "the payload does not match the handler's schema");
}

/**
 * What the schema makes of a payload. The error names the paths that failed and never a value, because more people read
 * errors than payloads.
 */
export async function matching(
  payload: unknown,
  definition: Pick<Handler, 'schema'>,
  problem: string,
): Promise<unknown> {
  const { schema } = definition;
  if (schema === undefined) return payload;
  const result = await schema['~standard'].validate(payload);
  if (result.issues === undefined) return result.value;
  const paths = result.issues.map(({ path = [] }) =>
    path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.'),
  );
  const error = new PermanentError(`${problem} at ${paths.join(', ') || 'its root'}`);
  throw withFailure(placeAt(error, definition), 'schema', paths);
}

/** What was returned so far. */
interface Changes {
  readonly statements: Query[];
  readonly effects: HandlerResult['effects'][number][];
  readonly cancels: Cancel[];
  readonly conditions: Condition[];
}

/** In an object, because a statement would run if this function returned it alone. */
async function returnedBy(handler: Handler, event: Event, tools: Tools): Promise<{ readonly returned: unknown }> {
  try {
    // The type of `data` is what the handler's own schema returned.
    const returned: unknown = handler.handle(event as Event<never>, tools);
    return { returned: queryOf(returned) ? returned : await returned };
  } catch (error) {
    throw explainRefusal(error);
  }
}

/** If a handler's own query was refused because it was not a read, the returned error says what to do instead. */
function explainRefusal(error: unknown): unknown {
  const code = DatabaseError.isFromDatabase(error) ? DatabaseError.fromThrown(error).code : undefined;
  if (code === WRITE_REFUSED) {
    return mistake(
      "the handler's db only reads: return the statement in an array, don't await it (an async function that returns a statement without an array awaits it, too)",
    );
  }
  return code === TRANSACTION_CONTROL_REFUSED ? mistake(`the handler awaited a statement that ${CONTROL}`) : error;
}

const CONTROL =
  'begins, ends or changes a transaction: remove it, because all changes of the event are committed in one transaction anyway';

const ENGINE =
  'names a table of the schema webhooks, which belongs to the engine: keep what you need in a table of your own';

/** A transaction is given up after 10 s, and holds its locks until then. 1,000 statements leave room on a slow day. */
const MAX_CHANGES = 1000;

/**
 * Checks what a handler returned, and adds it to the changes. Another try can't correct a mistake in it, so the error is
 * permanent and says what to return. The name of a list's handler is in front of the names of its effects: two handlers may ask
 * for effects of the same kind.
 */
function addChanges(
  changes: Changes,
  { returned }: { readonly returned: unknown },
  { handler, tenant, now }: { readonly handler: string | undefined; readonly tenant: string | undefined; now: Date },
): void {
  if (!Array.isArray(returned)) {
    throw mistake(`the handler returned ${kindOf(returned)}: return an array of changes, or [] for none`);
  }
  const { statements, effects, cancels, conditions } = changes;
  if (statements.length + effects.length + cancels.length + returned.length > MAX_CHANGES) {
    const advice = 'write many rows with one statement, as with insert … values (…), (…)';
    throw mistake(`the handler returned ${returned.length} changes, and ${MAX_CHANGES} is the limit: ${advice}`);
  }
  // `entries` also visits the holes of an array, which are mistakes too.
  for (const [index, change] of returned.entries()) {
    const isCondition = change instanceof Must;
    const statement = isCondition ? returningRows(change.statement) : change;
    // The runtime would log the error of a promise that nobody awaits, and with it the parameters of a statement.
    if (statement instanceof Promise) statement.catch(() => {});
    const isStatement = !(change instanceof Effect || change instanceof Cancel);
    const query = isStatement ? build(statement) : undefined;
    const problem = isStatement ? problemOfStatement(statement, query) : problemOf(change, now);
    if (problem) throw mistake(`change ${index + 1} of ${returned.length} ${problem}`);
    if (change instanceof Effect) {
      const { name, kind, payload, options } = change;
      const sendAt = timeOf(options, now);
      effects.push({
        name: handler === undefined ? name : `${handler}.${name}`,
        kind,
        payload,
        ...(sendAt > now && { sendAt }),
        ...(options.key !== undefined && { cancelKey: ofTenant(tenant, options.key) }),
      });
    } else if (change instanceof Cancel) cancels.push(new Cancel(change.kind, ofTenant(tenant, change.key)));
    else if (query) {
      const number = isCondition ? conditions.push({ error: change.error, handler }) - 1 : undefined;
      statements.push(number === undefined ? query : asCondition(query, number));
    }
  }
  if (new Set(effects.map(({ name }) => name)).size < effects.length) {
    throw mistake('two effects have the same name, so the second would be lost: give each its own name');
  }
  const both = cancels.find(({ kind, key }) => effects.some((one) => one.kind === kind && one.cancelKey === key));
  if (both) throw mistake(`an effect ${both.kind} has the key of one that is cancelled: give it another key`);
}

function mistake(message: string): Error {
  return withFailure(new PermanentError(message), 'changes');
}

/** Building fails if a value can't be converted for its column. At the next try, the value may be another one. */
function build(change: unknown): Query | undefined {
  try {
    return queryOf(change);
  } catch (error) {
    throw error instanceof Error ? withFailure(error, 'changes') : error;
  }
}

function problemOfStatement(change: unknown, query: Query | undefined): string | undefined {
  if (query === undefined) {
    return `is ${kindOf(change)}: a change is a statement (db.insert(…).values(…), db.execute(sql\`…\`)) or an effect`;
  }
  if (controlsTransaction(query.sql)) return `is a statement that ${CONTROL}`;
  if (namesEngine(query.sql)) return `is a statement that ${ENGINE}`;
  if (hasPlaceholder(query)) return 'has an sql.placeholder() without a value: put the value there';
  const params = query.params.flat(Number.POSITIVE_INFINITY);
  if (!params.every((param) => typeof param !== 'string' || isStorableText(param))) {
    return `has a parameter with ${NO_TEXT}`;
  }
  return isJson(params.filter((param) => typeof param === 'object')) ? undefined : `has a parameter that ${NO_JSON}`;
}

function problemOf(change: Effect | Cancel, now: Date): string | undefined {
  if (change instanceof Cancel) {
    const problem = problemOfKey(change.key);
    return problem && `cancels an effect ${change.kind} by a key that ${problem}`;
  }
  const { name, payload, options } = change;
  if (!isStorableText(name)) return `is an effect whose name is not a text, or is one with ${NO_TEXT}`;
  const problem = problemOfOptions(options, now) ?? (isJson(payload) ? undefined : `has a payload that ${NO_JSON}`);
  return problem && `is the effect ${name}, which ${problem}`;
}

const NO_TEXT = 'NUL or half a character (a lone surrogate), which Postgres cannot store';

const NO_JSON = 'cannot be written as JSON (an object that contains itself, or a bigint)';

function isJson(value: unknown): boolean {
  try {
    JSON.stringify(value);
    return true;
  } catch {
    return false;
  }
}

/** A value in words, for somebody who has returned a wrong one. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Effect) return 'an effect';
  if (value instanceof Cancel) return 'a cancel()';
  if (value instanceof Must) return 'a must()';
  if (value instanceof Promise) return 'a promise';
  if (queryOf(value)) return 'a statement';
  if (is(value, SQL)) return 'sql`…` without db.execute()';
  return typeof value === 'object'
    ? `an object (${value.constructor?.name ?? 'without a class'})`
    : `a ${typeof value}`;
}
