// Reads what an operator or a program sends. What can't be understood is refused, because a filter that silently lost a
// condition would match more events than its sender means.
import type { EventFilter } from '../db/filter.ts';
import type { Position } from '../db/list.ts';
import { webhookEvents } from '../db/schema.ts';
import { fromBase64Url, toBase64Url } from '../encoding/bytes.ts';
import { isStorableText, isStorableTime } from '../queue/tickets.ts';

export type Read<Value> =
  | { readonly outcome: 'read'; readonly value: Value }
  | { readonly outcome: 'invalid'; readonly detail: string };

export const FILTER_FIELDS = ['source', 'status', 'type', 'effect_status', 'q', 'since', 'until'] as const;

const STATUSES = webhookEvents.status.enumValues;
export const EFFECT_STATUSES = ['pending', 'parked'] as const;

/** Empty texts are those of a form's empty fields. */
export function readFilter(fields: Readonly<Record<string, unknown>>): Read<EventFilter> {
  const unknown = Object.keys(fields).find((name) => !(FILTER_FIELDS as readonly string[]).includes(name));
  if (unknown !== undefined)
    return invalid(`there is no filter ${JSON.stringify(unknown)}: ${FILTER_FIELDS.join(', ')}`);
  const given = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null && value !== '');
  for (const [name, value] of given) {
    if (!isStorableText(value)) return invalid(`${name} must be a text without NUL`);
  }
  const {
    source,
    status,
    type,
    effect_status: ofEffect,
    q,
    since,
    until,
  } = Object.fromEntries(given) as Record<string, string | undefined>;
  const known = STATUSES.find((one) => one === status);
  if (status !== undefined && known === undefined) return invalid(`status is one of ${STATUSES.join(', ')}`);
  const effectStatus = EFFECT_STATUSES.find((one) => one === ofEffect);
  if (ofEffect !== undefined && effectStatus === undefined) return invalid('effect_status is pending or parked');
  const [from, to] = [timeOf(since), timeOf(until)];
  if (from === 'invalid' || to === 'invalid') return invalid('since and until are times, as 2026-01-31T12:00Z');
  return { outcome: 'read', value: { source, status: known, type, effectStatus, eventId: q, since: from, until: to } };
}

/** The same filter as the fields of a query or of a form. */
export function fieldsOfFilter({
  source,
  status,
  type,
  effectStatus,
  eventId,
  since,
  until,
}: EventFilter): Record<string, string> {
  const fields = {
    source,
    status,
    type,
    effect_status: effectStatus,
    q: eventId,
    since: since?.toISOString(),
    until: until?.toISOString(),
  };
  return Object.fromEntries(
    Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined),
  );
}

/** Times without a zone are in UTC, like all times that we show. */
function timeOf(text: string | undefined): Date | undefined | 'invalid' {
  if (text === undefined) return undefined;
  const match = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?)?(Z|[+-]\d\d:?\d\d)?$/.exec(text);
  const time = new Date(match?.[1] && !match[4] ? `${text}Z` : text);
  return match === null || !isStorableTime(time) ? 'invalid' : time;
}

/** A page of a list that fits into an answer and a screen, and the most that a program may ask for. */
export const [PAGE, MAX_PAGE] = [50, 500];

export function readLimit(text: string | undefined): Read<number> {
  const limit = text === undefined ? PAGE : Number(text);
  const fits = Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE;
  return fits ? { outcome: 'read', value: limit } : invalid(`limit is a number from 1 to ${MAX_PAGE}`);
}

export function cursorOf(position: Position | undefined): string | null {
  return position ? writeCursor([position.receivedAt, position.source, position.eventId]) : null;
}

export function readCursor(text: string | undefined): Read<Position | undefined> {
  if (text === undefined || text === '') return { outcome: 'read', value: undefined };
  const [receivedAt, source, eventId, ...more] = arrayIn(text);
  if (typeof receivedAt !== 'string' || !isTimeOfPostgres(receivedAt)) return UNREADABLE;
  const isUsable = isStorableText(source) && isStorableText(eventId) && more.length === 0;
  return isUsable ? { outcome: 'read', value: { receivedAt, source, eventId } } : UNREADABLE;
}

/** As Postgres writes times. It would refuse the query because of a date that doesn't exist, or of a zone beyond 15 h. */
function isTimeOfPostgres(text: string): boolean {
  const match = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d{1,6})?[+-](0\d|1[0-5])(:[0-5]\d)?$/.exec(text);
  if (match === null) return false;
  const iso = `${match[1]}T${match[2]}`;
  const time = new Date(`${iso}Z`);
  return isStorableTime(time) && time.toISOString().startsWith(iso) && isStorableTime(new Date(text));
}

const UNREADABLE = invalid('the cursor is not one that this API has given out');

export function writeCursor(values: readonly unknown[]): string {
  return toBase64Url(new TextEncoder().encode(JSON.stringify(values)));
}

/** Empty if the text is not a cursor. */
export function arrayIn(cursor: string): unknown[] {
  try {
    const json: unknown = JSON.parse(new TextDecoder().decode(fromBase64Url(cursor)));
    return Array.isArray(json) ? json : [];
  } catch {
    return [];
  }
}

export function invalid(detail: string) {
  return { outcome: 'invalid', detail } as const;
}
