import type { EventDetails } from '../db/details.ts';

export interface Moment {
  readonly at: string;
  readonly what: string;
  /** Written by an operator, so it is shown like any other stranger's text. */
  readonly note?: string | undefined;
  readonly isFuture?: boolean;
}

const NAMES: Readonly<Record<string, string>> = { retry: 'retried', discard: 'discarded', rerun: 'run again' };

/** The life of an event, oldest first, as far as its row tells. */
export function timelineOf(event: EventDetails): Moment[] {
  const { status, attempts, effects, actions } = event;
  const moments: Moment[] = [{ at: event.received_at, what: 'received, and claimed in Postgres' }];
  if (event.occurred_at !== null) moments.push({ at: event.occurred_at, what: "happened, by the sender's clock" });
  for (const { at, who, action, reason } of actions) {
    moments.push({ at, what: NAMES[action] ?? action, note: reason === null ? `by ${who}` : `by ${who}: ${reason}` });
  }
  if (event.finished_at !== null) {
    const tries = `${attempts} attempt${attempts === 1 ? '' : 's'}`;
    moments.push({ at: event.finished_at, what: `${status} after ${tries}` });
  }
  for (const { name, sent_at } of effects) {
    if (sent_at !== null) moments.push({ at: sent_at, what: 'effect sent', note: name });
  }
  if (status === 'pending') {
    const next = event.not_before ?? event.due_at;
    const what =
      attempts > 0
        ? `next attempt (${attempts} failed so far), not earlier`
        : 'another ticket is sent, if none arrived';
    moments.push({ at: next, what, isFuture: true });
  }
  return moments.sort((a, b) => Date.parse(a.at) - Date.parse(b.at));
}

/** The paths that did not match the handler's schema, with the values that are there. */
export function failedPaths(event: EventDetails): { path: string; value: string | undefined }[] {
  const paths = /the payload does not match the handler's schema at (.+)$/.exec(event.last_error ?? '')?.[1];
  if (paths === undefined) return [];
  let payload: unknown;
  try {
    payload = JSON.parse(event.body ?? 'null');
  } catch {
    payload = undefined;
  }
  return paths.split(', ').map((path) => ({ path, value: shorten(JSON.stringify(valueAt(payload, path))) }));
}

function valueAt(payload: unknown, path: string): unknown {
  if (path === 'its root') return payload;
  let value = payload;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** A value is shown beside its path, in one line. */
const MAX_VALUE_LENGTH = 120;

function shorten(text: string | undefined): string | undefined {
  return text === undefined || text.length <= MAX_VALUE_LENGTH ? text : `${text.slice(0, MAX_VALUE_LENGTH)}…`;
}
