// Filters of events: their fields in the API, and their conditions in SQL.
import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import * as v from 'valibot';
import { isStorableText, isStorableTime } from '../shared/text.ts';
import { effects, events, FAILURES, type WorkTable } from './schema.ts';
import { at } from './sql.ts';

export const STATUSES = events.status.enumValues;
/** `sent` is missing because sent effects are too many for an index. */
export const EFFECT_STATUSES = ['pending', 'parked'] as const;

/** How many ids with the same beginning are searched for each source. To find others, type more of the id. */
export const MAX_COMMON = 500;

// Each message completes a sentence that begins with the name of the field.
const NO_TEXT = 'must be a text without NUL';
const Text = v.pipe(
  v.string(NO_TEXT),
  v.nonEmpty('must not be empty'),
  v.check((text: string) => isStorableText(text), NO_TEXT),
);
export const Time = v.pipe(
  Text,
  v.check((text: string) => timeOf(text) !== undefined, 'must be a time such as 2026-01-31T12:00Z'),
  v.transform(timeOf),
);
const oneOf = <const Names extends readonly string[]>(names: Names) =>
  v.picklist(names, `must be one of ${names.join(', ')}`);

/** An optional field. */
export const optional = <Schema extends v.GenericSchema>(schema: Schema, description: string) =>
  v.pipe(v.optional(schema), v.description(description));

/** An object with only these fields. */
export const only = <const Entries extends v.ObjectEntries>(what: 'field' | 'filter', entries: Entries) =>
  v.strictObject(entries, ({ expected, received }) =>
    expected === 'never'
      ? `there is no ${what} ${received}: ${Object.keys(entries).join(', ')}`
      : 'filter is missing. {} means all events',
  );

export const Filter = only('filter', {
  source: optional(Text, 'Only of this source'),
  status: optional(oneOf(STATUSES), 'Only with this status'),
  type: optional(Text, 'Only of this type'),
  failure: optional(oneOf(FAILURES), 'Only if they or their unsent effects failed for this reason'),
  error: optional(Text, 'Only if they or their unsent effects have this error. Ids in it may differ'),
  effect_status: optional(oneOf(EFFECT_STATUSES), 'Only with an effect of this status'),
  q: optional(
    Text,
    `Only with this event id. A list takes its beginning as well (the first ${MAX_COMMON} of each source), and acme: for all events of the tenant acme`,
  ),
  since: optional(Time, 'Received at or after this time (ISO 8601; without a zone it is UTC)'),
  until: optional(Time, 'Received before this time'),
  action_at: optional(Time, "Only if an operator's action at this time was about them"),
});

/** An unset field doesn't restrict the filter. */
export type EventFilter = Readonly<v.InferOutput<typeof Filter>>;

/** A filter as fields of a query or a form. */
export function filterFields(filter: EventFilter): Record<string, string> {
  const fields = Object.entries(filter).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value instanceof Date ? value.toISOString() : value] as const],
  );
  return Object.fromEntries(fields);
}

/** A time without a zone is in UTC, like all times that we show. */
export function timeOf(text: string): Date | undefined {
  const match = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?)?(Z|[+-]\d\d:?\d\d)?$/.exec(text);
  const time = new Date(match?.[1] && !match[4] ? `${text}Z` : text);
  return match === null || !isStorableTime(time) ? undefined : time;
}

/** The conditions of a filter on a row of `webhooks.events`. */
export function matches(filter: EventFilter): SQL {
  const { source, status, type, failure, error, effect_status, q, since, until, action_at } = filter;
  const equals = (column: PgColumn, value: string | undefined) =>
    value === undefined ? undefined : sql`${column} = ${value}`;
  const conditions = [
    equals(events.source, source),
    equals(events.eventId, q),
    equals(events.status, status),
    equals(events.type, type),
    failure === undefined && error === undefined ? undefined : hasFailed({ failure, error }),
    effect_status && hasEffect(sql`${effects.status} = ${sql.raw(`'${effect_status}'`)}`),
    since && sql`${events.receivedAt} >= ${at(since)}`,
    until && sql`${events.receivedAt} < ${at(until)}`,
    action_at && sql`${events.actions} @> ${JSON.stringify([{ at: action_at.toISOString() }])}::jsonb`,
  ];
  return sql.join([sql`true`, ...conditions.filter((condition) => condition !== undefined)], sql` and `);
}

type Why = Pick<EventFilter, 'failure' | 'error'>;

/**
 * Whether an event or one of its unsent effects failed. Effects fail after their event is done. Unsent effects are few
 * and have indexes.
 */
function hasFailed(why: Why): SQL {
  // Each status has its own index, which Postgres doesn't use for a condition on both.
  const ofEffect = (status: string) =>
    hasEffect(sql`${effects.status} = ${sql.raw(status)} and ${failedFor(effects, why)}`);
  return sql`(${failedFor(events, why)} or ${ofEffect("'pending'")} or ${ofEffect("'parked'")})`;
}

/** Whether a row of `events` or `effects` failed for this reason. */
export function failedFor(table: WorkTable, { failure, error }: Why): SQL {
  const isFailure = failure === undefined ? sql`true` : sql`${table.failure} = ${failure}`;
  return error === undefined
    ? isFailure
    : sql`${isFailure} and ${kindOfError(table.lastError)} = ${kindOfError(error)}`;
}

/** The beginning of an error without likely ids (words of six or more characters that contain a digit). */
export function kindOfError(error: PgColumn | SQL | string): SQL {
  return sql`regexp_replace(left(${error}, 200), '\\m(?=[\\w-]{6})[\\w-]*\\d[\\w-]*', '#', 'g')`;
}

/**
 * A status in `condition` must be a literal instead of a parameter, so that Postgres can use the status's partial
 * index.
 */
function hasEffect(condition: SQL): SQL {
  return sql`(${events.source}, ${events.eventId}) in (
    select ${effects.source}, ${effects.eventId} from ${effects} where ${condition})`;
}
