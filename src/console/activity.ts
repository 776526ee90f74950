import { type ActivityLine, type loadActivity, MAX_LINES } from '../db/activity.ts';
import { keyText } from '../db/keys.ts';
import { isStorableTime } from '../queue/tickets.ts';
import { arrayIn, invalid, type Read, writeCursor } from './input.ts';

/**
 * A claim or a completion carries the time when it began, and is visible only once it is committed. What is younger than
 * this is left for the next call, so that nothing is committed behind the cursor.
 */
const SETTLE_MS = 2000;

/** The cursor must fit into a URL. If more events fail at the same time, some lines are told twice. */
const MAX_FAILING = 40;

export interface ActivityCursor {
  readonly from: Date;
  readonly until: Date;
  /** Attempts of the events that were failing at the last call, by their keys. Undefined at the first call. */
  readonly failing: ReadonlyMap<string, number> | undefined;
}

/** Without a cursor, it begins now. */
export function readActivityCursor(text: string | undefined, now: Date): Read<ActivityCursor> {
  const until = new Date(now.getTime() - SETTLE_MS);
  if (text === undefined || text === '') return { outcome: 'read', value: { from: until, until, failing: undefined } };
  const [from, failing, ...more] = arrayIn(text);
  const isOurs = typeof from === 'number' && isStorableTime(new Date(from)) && more.length === 0;
  if (!isOurs || !Array.isArray(failing) || !failing.every(isAttempts))
    return invalid('the cursor is not one that this API has given out');
  return { outcome: 'read', value: { from: new Date(from), until, failing: new Map(failing) } };
}

/** The key of an event, and how often it had been tried. */
function isAttempts(pair: unknown): pair is [string, number] {
  return Array.isArray(pair) && pair.length === 2 && typeof pair[0] === 'string' && typeof pair[1] === 'number';
}

/** The lines since the cursor, and the next cursor. A failed attempt shows itself by a higher number of attempts. */
export function nextActivity(
  { from, until, failing }: ActivityCursor,
  { lines, failing: failingNow }: Awaited<ReturnType<typeof loadActivity>>,
): { lines: ActivityLine[]; cursor: string } {
  const keyOf = ({ source, event_id: eventId }: ActivityLine) => keyText({ source, eventId });
  const retried = failingNow.filter((line) => failing && line.attempts > (failing.get(keyOf(line)) ?? 0));
  const last = lines.at(-1);
  const all = [...lines, ...retried.map((line) => ({ ...line, at: until.toISOString() }))];
  const known = failingNow.slice(0, MAX_FAILING).map((line) => [keyOf(line), line.attempts]);
  // If there were too many lines for one answer, the next one goes on behind the last.
  const reached = last && lines.length >= MAX_LINES ? new Date(last.at) : until > from ? until : from;
  return {
    lines: all.map(({ at, source, event_id, type, what, error }) => ({ at, source, event_id, type, what, error })),
    cursor: writeCursor([reached.getTime(), known]),
  };
}
