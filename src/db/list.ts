import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { type EventFilter, matches } from './filter.ts';
import { webhookEvents as events } from './schema.ts';
import { seenSources } from './seen-sources.ts';
import { isoOf } from './status.ts';

/** An event in a list. The names are those of the API. */
export interface ListedEvent {
  readonly source: string;
  readonly event_id: string;
  readonly type: string | null;
  readonly status: 'pending' | 'done' | 'ignored' | 'parked';
  readonly attempts: number;
  readonly last_error: string | null;
  readonly received_at: string;
  readonly finished_at: string | null;
  readonly due_at: string;
}

/** The place in the list after which the next page begins: the key of the last event. */
export interface Position {
  /** As Postgres writes it, with its microseconds. */
  readonly receivedAt: string;
  readonly source: string;
  readonly eventId: string;
}

export interface Page {
  readonly events: readonly ListedEvent[];
  /** Undefined at the end of the list. */
  readonly next: Position | undefined;
}

/**
 * A page of the events that match, newest first. An event that arrives meanwhile doesn't move the others to another page.
 *
 * No index has the order of this list, because every claim would pay for it. Parked and pending events and effects are
 * few, and have indexes of their own. A search by id uses the primary key. The rest is read in spans of time that become longer and
 * longer, until the page is full: usually the first one fills it.
 */
export async function listEvents(
  db: Database,
  filter: EventFilter,
  { after, limit, now }: { readonly after: Position | undefined; readonly limit: number; readonly now: Date },
): Promise<Page> {
  const found = await run<ListedEvent & Record<string, unknown>>(db, pageStatement(filter, after, limit + 1, now));
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    events: page.map((row) => ({
      source: row.source,
      event_id: row.event_id,
      type: row.type,
      status: row.status,
      attempts: row.attempts,
      last_error: row.last_error,
      received_at: isoOf(row.received_at) ?? '',
      finished_at: isoOf(row.finished_at),
      due_at: isoOf(row.due_at) ?? '',
    })),
    next:
      found.length > limit && last
        ? { receivedAt: last.received_at, source: last.source, eventId: last.event_id }
        : undefined,
  };
}

function pageStatement(filter: EventFilter, after: Position | undefined, limit: number, now: Date): SQL {
  const key = sql`(${events.receivedAt}, ${events.source}, ${events.eventId})`;
  const conditions = after
    ? sql`${matches(filter)} and ${key} < (${after.receivedAt}::timestamptz, ${after.source}, ${after.eventId})`
    : matches(filter);
  const columns = sql`${events.source} as source, ${events.eventId} as event_id, ${events.type} as type,
      ${events.status} as status, ${events.attempts} as attempts, ${events.lastError} as last_error,
      ${events.receivedAt} as received_at, ${events.finishedAt} as finished_at, ${events.dueAt} as due_at`;
  const newestFirst = sql`order by ${events.receivedAt} desc, ${events.source} desc, ${events.eventId} desc limit ${limit}`;

  if (filter.eventId !== undefined) {
    return sql`
    with recursive ${seenSources}
    select found.* from seen_sources cross join lateral (
      select ${columns} from ${events} where ${events.source} = seen_sources.source and ${conditions}
    ) as found
    order by received_at desc, source desc, event_id desc limit ${limit}`;
  }
  if (filter.status === 'parked' || filter.status === 'pending' || filter.effectStatus !== undefined) {
    return sql`select ${columns} from ${events} where ${conditions} ${newestFirst}`;
  }
  const { newest, oldest } = spansBefore(after ? new Date(after.receivedAt) : filter.until, now);
  return sql`
    select found.* from unnest(${sql.param(newest)}::timestamptz[], ${sql.param(oldest)}::timestamptz[]) as span (newest, oldest)
    cross join lateral (
      select ${columns} from ${events}
      where ${events.receivedAt} <= span.newest and ${events.receivedAt} > span.oldest and ${conditions}
      ${newestFirst}
    ) as found
    limit ${limit}`;
}

/** The first span is shorter than most pages need, and each of the others is four times as long as all before it. */
const [FIRST_SPAN_MS, SPANS] = [15 * 60_000, 7];

/** Postgres can't read the times beyond these as JavaScript writes them. No event was received in such a year. */
const [EARLIEST, LATEST] = [0, Date.UTC(9999, 11, 31)];

/**
 * Spans of time, newest first, without a gap: 15 minutes, an hour, 4, 16 and 64 hours and so on, and then all that is
 * older. The end of a span belongs to it, and so the first one has a millisecond more: Postgres counts microseconds.
 * Without a start, the first one has no end, because the clock of another Worker may be ahead.
 */
function spansBefore(start: Date | undefined, now: Date): { newest: string[]; oldest: string[] } {
  const from = start ? start.getTime() + 1 : now.getTime();
  const textOf = (time: number) => new Date(Math.min(Math.max(time, EARLIEST), LATEST)).toISOString();
  const ends = Array.from({ length: SPANS }, (_, n) => textOf(from - FIRST_SPAN_MS * 4 ** n));
  return { newest: [start ? textOf(from) : 'infinity', ...ends], oldest: [...ends, '-infinity'] };
}
