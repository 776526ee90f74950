import type { EventFilter } from '../db/filter.ts';
import type { ActionName, Order } from './act.ts';
import { cleanText } from './identify.ts';
import { invalid, type Read, readFilter } from './input.ts';

/** As long as a reason in one or two sentences. */
export const MAX_REASON_LENGTH = 500;

/** The largest integer of Postgres. */
const MAX_EXPECTED = 2_147_483_647;

/** Reads the JSON of a change. With a key it is about one event, without one about all that match its filter. */
export function readOrder(action: ActionName, text: string, key?: { source: string; eventId: string }): Read<Order> {
  const body = objectIn(text === '' ? '{}' : text);
  if (body === undefined) return invalid('the body is not a JSON object');
  const known = key ? ['reason', 'effects'] : ['filter', 'expected', 'reason', 'effects'];
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown !== undefined) return invalid(`there is no field ${JSON.stringify(unknown)}: ${known.join(', ')}`);

  const { filter, expected, reason, effects } = body;
  if (!key && (typeof filter !== 'object' || filter === null)) return invalid('filter is missing. {} means all events');
  const read: Read<EventFilter> = key ? { outcome: 'read', value: key } : readFilter(filter as Record<string, unknown>);
  if (read.outcome === 'invalid') return read;
  if (expected !== undefined && typeof expected !== 'number') return invalid('expected is a number of events');
  if (effects !== undefined && typeof effects !== 'boolean') return invalid('effects is true or false');
  if (reason !== undefined && typeof reason !== 'string') return invalid('reason is a text');
  return completeOrder(action, read.value, { expected, reason, effects });
}

/** An order from what a form or a body says. */
export function completeOrder(
  action: ActionName,
  filter: EventFilter,
  given: { expected?: number | undefined; reason?: string | undefined; effects?: boolean | undefined },
): Read<Order> {
  const { expected } = given;
  if (expected !== undefined && !(Number.isInteger(expected) && expected >= 0 && expected <= MAX_EXPECTED)) {
    return invalid('expected is a number of events');
  }
  const reason = cleanText(given.reason ?? '', MAX_REASON_LENGTH);
  if (action === 'discard' && reason === '')
    return invalid('reason is missing: it is all that will be left to say why');
  return {
    outcome: 'read',
    value: {
      action,
      filter,
      expected,
      reason: reason === '' ? undefined : reason,
      effects: given.effects ?? false,
    },
  };
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const json: unknown = JSON.parse(text);
    const isObject = typeof json === 'object' && json !== null && !Array.isArray(json);
    return isObject ? (json as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
