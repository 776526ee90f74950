// Reads what an operator or a program sends. What can't be understood is refused, because a filter that silently lost a
// condition would match more events than its sender means. docs/ops-api.json is made from these schemas.
import * as v from 'valibot';
import type { OperatorAction } from '../db/actions.ts';
import { type EventFilter, Filter, only, optional, Time } from '../db/filter.ts';
import type { EventKey } from '../db/keys.ts';
import { ACTIONS, type ActionName } from '../db/schema.ts';
import type { Cursor } from '../db/views.ts';
import { fromBase64Url, toBase64Url } from '../shared/bytes.ts';
import { cleanText, isStorableText, isStorableTime } from '../shared/text.ts';

export type Input<Value> =
  | { readonly outcome: 'valid'; readonly value: Value }
  | { readonly outcome: 'invalid'; readonly detail: string };

export function isAction(text: string): text is ActionName {
  return (ACTIONS as readonly string[]).includes(text);
}

type Fields = Readonly<Record<string, unknown>>;

export type RequestedAction = Omit<OperatorAction, 'who' | 'at'>;

/** A page of a list that fits into an answer and a screen, and the most that a program may ask for. */
const PAGE = 50;
const MAX_PAGE = 500;

/** As long as a reason in one or two sentences. */
export const MAX_REASON_LENGTH = 500;

const NO_LIMIT = `is a number from 1 to ${MAX_PAGE}`;
const Limit = v.pipe(
  v.string(),
  v.transform(Number),
  v.integer(NO_LIMIT),
  v.minValue(1, NO_LIMIT),
  v.maxValue(MAX_PAGE, NO_LIMIT),
);
const NOT_EXPECTED = 'is not what a dry run has answered';
const Expected = v.pipe(v.string(NOT_EXPECTED), v.regex(/^\d{1,10}-[\da-f]{0,16}$/, NOT_EXPECTED));
const CursorText = v.pipe(
  v.string(),
  v.check((text: string) => cursorIn(text) !== undefined, 'is not one that this API has given out'),
  v.transform(cursorIn),
);
const Reason = v.pipe(
  v.string('is a text'),
  v.transform((text) => cleanText(text, MAX_REASON_LENGTH)),
);
/** The query of a list. */
export const ListFields = only('filter', {
  ...Filter.entries,
  cursor: optional(CursorText, 'next_cursor of the page before'),
  limit: optional(Limit, `Events on a page. ${PAGE} if it is not given`),
});

const ACTION = {
  reason: optional(Reason, `Needed to discard. ${MAX_REASON_LENGTH} characters of it are kept`),
  effects: optional(v.boolean('is true or false'), 'For a rerun: send the effects again'),
};

/** The body of an action on one event. */
export const OneEventFields = only('field', {
  finished_at: optional(Time, 'For a rerun: as you saw it, so that it runs only once more'),
  ...ACTION,
});

/** The body of an action on all events that match a filter. */
export const ManyEventsFields = only('field', {
  filter: Filter,
  expected: optional(Expected, 'What a dry run answered: nothing is changed if other events match by now'),
  ...ACTION,
});

/** The body of a request to reconcile again. */
export const ReconcileFields = only('field', {
  since: optional(Time, 'The consumer asks for everything that was sent since then, at its next tick'),
  accept: optional(v.boolean('is true or false'), 'The key is right, although it lists nothing that is known here'),
});

export function readReconcile(fields: Fields) {
  return parse(ReconcileFields, fields);
}

/** As long as the name of a host may be. */
const Name = v.pipe(
  v.string('is a text'),
  v.check((text: string) => isStorableText(text) && text.length <= 255, 'is a text of up to 255 characters'),
);

/** The body of a request to pause a kind of effects, or to end that. */
export const PauseFields = only('field', {
  action: v.pipe(
    v.picklist(['pause', 'resume', 'try'], 'is pause, resume or try'),
    v.description('`try`: the next call is tried now'),
  ),
  host: optional(Name, 'Only calls to this host'),
});

export function readPause(fields: Fields) {
  return parse(PauseFields, fields);
}

type ActionFields = Partial<v.InferOutput<typeof ManyEventsFields> & v.InferOutput<typeof OneEventFields>>;

export function readFilter(fields: Fields): Input<EventFilter> {
  return parse(Filter, withoutEmpty(fields));
}

export function readList(fields: Fields) {
  const read = parse(ListFields, withoutEmpty(fields));
  if (read.outcome === 'invalid') return read;
  const { cursor, limit = PAGE, ...filter } = read.value;
  // Ids are pasted with spaces around them.
  return valid({ filter: { ...filter, q: filter.q?.trim() || undefined }, after: cursor, limit });
}

/** With a key it is about one event, without one about all that match the filter in the fields. */
export function readAction(action: ActionName, fields: Fields, key?: EventKey): Input<RequestedAction> {
  // Valibot takes an array for an object.
  const read: Input<ActionFields> = key
    ? parse(OneEventFields, fields)
    : parse(ManyEventsFields, Array.isArray(fields.filter) ? {} : fields);
  if (read.outcome === 'invalid') return read;
  const { filter = {}, expected, finished_at: finishedAt, reason, effects = false } = read.value;
  if (action === 'discard' && !reason) return invalid('reason is missing: nothing else will say why');
  if (action === 'rerun' && key && !finishedAt) {
    return invalid('finished_at is missing: with it, a request that is repeated runs the event only once more');
  }
  return valid({
    action,
    filter: key ? { source: key.source, q: key.eventId } : filter,
    expected,
    finishedAt,
    reason: reason === '' ? undefined : reason,
    sendEffectsAgain: effects,
  });
}

function parse<Schema extends v.GenericSchema>(schema: Schema, input: unknown): Input<v.InferOutput<Schema>> {
  const result = v.safeParse(schema, input, { abortEarly: true });
  if (result.success) return valid(result.output);
  const [{ type, message, path }] = result.issues;
  return invalid(type === 'strict_object' ? message : `${path?.at(-1)?.key} ${message}`);
}

/** Empty texts are those of a form's empty fields. */
export function withoutEmpty(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}

export function cursorText(cursor: Cursor | undefined): string | null {
  if (cursor === undefined) return null;
  const { receivedAt, source, eventId } = cursor;
  return toBase64Url(new TextEncoder().encode(JSON.stringify([receivedAt, source, eventId])));
}

/** Undefined if we have not made the text. */
function cursorIn(text: string): Cursor | undefined {
  const json = jsonIn(new TextDecoder().decode(fromBase64Url(text)));
  const [receivedAt, source, eventId, ...more]: unknown[] = Array.isArray(json) ? json : [];
  if (typeof receivedAt !== 'string' || !isTimeOfPostgres(receivedAt) || more.length > 0) return undefined;
  return isStorableText(source) && isStorableText(eventId) ? { receivedAt, source, eventId } : undefined;
}

/** As Postgres writes times. It would refuse a query with a date that doesn't exist, or with a zone beyond 15 h. */
function isTimeOfPostgres(text: string): boolean {
  const match = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d{1,6})?[+-](0\d|1[0-5])(:[0-5]\d)?$/.exec(text);
  if (match === null) return false;
  const iso = `${match[1]}T${match[2]}`;
  const time = new Date(`${iso}Z`);
  return isStorableTime(time) && time.toISOString().startsWith(iso) && isStorableTime(new Date(text));
}

/** The body of a request. Without one, it is an empty object. */
export function readFields(text: string): Input<Fields> {
  const json = text === '' ? {} : jsonIn(text);
  const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
  return isObject ? valid(json as Fields) : invalid('the body is not a JSON object');
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function valid<Value>(value: Value): Input<Value> {
  return { outcome: 'valid', value };
}

function invalid(detail: string) {
  return { outcome: 'invalid', detail } as const;
}
