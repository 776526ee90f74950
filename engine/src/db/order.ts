// Events with an order key: which is next, which ones wait, and which run may complete them.
import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { eventOf, LOADED, type LoadedEvent, type LoadedRow, MAX_LOADED_BYTES } from './events.ts';
import type { EventKey } from './keys.ts';
import { bodies, events, itsBody, orderKeys } from './schema.ts';
import { columnNames, EVENT_KEY, lockName, rowsOf } from './sql.ts';

export interface LineKey {
  readonly source: string;
  readonly orderKey: string;
}

/** A line: the unfinished events of one source with the same order key, in order. */
export interface Line extends LineKey {
  /**
   * Changes with each completion, and is null before the first one. Must be loaded before a handler reads what earlier
   * events have written.
   */
  turn: string | null;
  /** How many of the following events the commit should load. */
  lookFor?: number;
  /** The events that the last commit loaded. */
  next?: readonly LoadedEvent[] | undefined;
}

/** A line and its first events, in order. */
export interface LoadedLine extends Line {
  readonly events: readonly LoadedEvent[];
}

const column = columnNames(orderKeys);

/**
 * Whether an event is in a line: it is pending, or parked while later events wait for it. A suspected replay never is,
 * because a stranger with a captured body could then block a line. The index `events_in_line` has the same condition.
 */
const isInLine = (alias: string) =>
  sql.raw(`(${alias}.status = 'pending' or (${alias}.status = 'parked' and ${alias}.holds))`);

/** The position of an event in its line. */
const placeOf = (alias: string) => sql.raw(`(${alias}.received_at, ${alias}.order_place, ${alias}.event_id)`);

const PLACE = sql`(${events.receivedAt}, ${events.orderPlace}, ${events.eventId})`;

/** Whether the current event is the first of its line. Also true without an order key. */
export const IS_FIRST = sql`(${events.orderKey} is null or not exists (
      select from ${events} as other
      where (other.source, other.order_key) = (${events.source}, ${events.orderKey}) and ${isInLine('other')}
        and ${placeOf('other')} < ${PLACE}))`;

/** How many events wait for the current event. */
export const WAITING = sql`(case when ${events.orderKey} is not null and (${events.status} = 'pending' or (${events.status} = 'parked' and ${events.holds})) then (
      select count(*)::int from ${events} as other
      where (other.source, other.order_key) = (${events.source}, ${events.orderKey}) and ${isInLine('other')}
        and other.status = 'pending' and ${placeOf('other')} > ${PLACE}) else 0 end)`;

/** More lines than anybody has at the same time. A statement walks this many in two seconds. */
const MAX_LINES = 100_000;

/**
 * The recursive CTE `first_in_line` (source, event_id, status, due_at, received_at): the first event of each line. It
 * jumps from line to line in the index, so it reads one event of each, however many wait.
 */
export const FIRST_IN_LINE = sql`
    first_in_line as (
      (${firstAfter(sql`true`)})
      union all
      select next.* from first_in_line last cross join lateral (
        ${firstAfter(sql`(other.source, other.order_key) > (last.source, last.order_key) and last.number < ${sql.raw(String(MAX_LINES))}`, sql`last.number + 1`)}
      ) as next
    )`;

function firstAfter(condition: SQL, number = sql`1`): SQL {
  return sql`
        select other.source, other.order_key, other.event_id, other.status, other.due_at, other.received_at, ${number} as number
        from ${events} as other
        where other.order_key is not null and ${isInLine('other')} and ${condition}
        order by other.source, other.order_key, other.received_at, other.order_place, other.event_id limit 1`;
}

/** Loads the turns of lines, and at most `perLine` first events of each. */
export async function loadLines(db: Database, lines: readonly LineKey[], perLine: number): Promise<LoadedLine[]> {
  return linesIn(await run<LineRow>(db, firstOfLines(lines, perLine)));
}

export interface LineRow extends LoadedRow {
  readonly turn: string | null;
}

/** The statement of `loadLines`. */
export function firstOfLines(lines: readonly LineKey[], perLine: number): SQL {
  return sql`
    select ${LOADED}, ${orderKeys.turn} as turn,
           coalesce(${PLACE} <= (${orderKeys.receivedAt}, ${orderKeys.orderPlace}, ${orderKeys.eventId}), false) as late,
           case when sum(octet_length(${bodies.body})) over (order by line.number, line.source, line.event_id)
             - octet_length(${bodies.body}) < ${MAX_LOADED_BYTES} then ${bodies.body} end as body
    from ${rowsOf('key', lines, LINE_KEY)}
    left join ${orderKeys} on (${orderKeys.source}, ${orderKeys.orderKey}) = (key.source, key.order_key)
    cross join lateral (
      select other.source, other.event_id, row_number() over (order by other.received_at, other.order_place, other.event_id) as number
      from ${events} as other
      where (other.source, other.order_key) = (key.source, key.order_key) and ${isInLine('other')}
      order by other.received_at, other.order_place, other.event_id limit ${perLine}
    ) as line
    join ${events} on (${events.source}, ${events.eventId}) = (line.source, line.event_id)
    left join ${bodies} on ${itsBody}
    order by line.source, ${events.orderKey}, line.number`;
}

/** Groups rows into lines. */
export function linesIn(rows: readonly LineRow[]): LoadedLine[] {
  const byLine = Map.groupBy(rows, ({ source, orderKey }) => lineText({ source, orderKey: orderKey ?? '' }));
  return [...byLine.values()].flatMap((those) => {
    const [first] = those;
    if (!first) return [];
    const { source, orderKey, turn } = first;
    return [{ source, orderKey: orderKey ?? '', turn, events: those.map(({ turn, ...row }) => eventOf(row)) }];
  });
}

/** The order keys of these events. */
export async function linesOf(db: Database, keys: readonly EventKey[]): Promise<LineKey[]> {
  return run<LineKey>(
    db,
    sql`
    select distinct ${events.source} as source, ${events.orderKey} as "orderKey"
    from ${rowsOf('key', keys, EVENT_KEY)}
    join ${events} on (${events.source}, ${events.eventId}) = (key.source, key.event_id)
    where ${events.orderKey} is not null`,
  );
}

/** The first event of each line, if it is pending. */
export async function findNext(
  db: Database,
  lines: readonly LineKey[],
): Promise<(EventKey & { readonly notBefore: Date | null })[]> {
  const rows = await run<EventKey & { readonly notBefore: string | null }>(
    db,
    sql`
    select first.source as source, first.event_id as "eventId", first.not_before as "notBefore"
    from ${rowsOf('key', lines, LINE_KEY)}
    cross join lateral (
      select other.source, other.event_id, other.not_before, other.status from ${events} as other
      where (other.source, other.order_key) = (key.source, key.order_key) and ${isInLine('other')}
      order by other.received_at, other.order_place, other.event_id limit 1
    ) as first
    where first.status = 'pending'`,
  );
  return rows.map(({ notBefore, ...key }) => ({ ...key, notBefore: notBefore === null ? null : new Date(notBefore) }));
}

const LINE_KEY = {
  source: ['text', ({ source }: LineKey) => source],
  order_key: ['text', ({ orderKey }: LineKey) => orderKey],
} as const;

/** A line whose events are completed: the last of these events, and the new turn. */
export interface Turn {
  readonly line: Line;
  readonly last: LoadedEvent;
  readonly next: string;
}

/**
 * The first statement of a transaction that completes events with order keys. It fails if another run has completed an
 * event of these lines since they were loaded: it violates `turn_was_kept`, or the primary key if the other run has
 * inserted the row meanwhile.
 */
export function takeTurns(turns: readonly Turn[]): SQL {
  const isLater = sql`(given.received_at, given.order_place, given.event_id)
    > (${orderKeys.receivedAt}, ${orderKeys.orderPlace}, ${orderKeys.eventId})`;
  return sql`
    with given as (
      select * from ${rowsOf('given', turns, {
        source: ['text', ({ line }) => line.source],
        order_key: ['text', ({ line }) => line.orderKey],
        turn: ['uuid', ({ line }) => line.turn],
        next: ['uuid', ({ next }) => next],
        received_at: ['timestamptz', ({ last }) => last.receivedAt],
        order_place: ['int', ({ last }) => last.orderPlace],
        event_id: ['text', ({ last }) => last.eventId],
      })}
    ),
    known as (
      select given.* from given
      join ${orderKeys} on (${orderKeys.source}, ${orderKeys.orderKey}) = (given.source, given.order_key)
      order by given.source, given.order_key for update of ${lockName(orderKeys)}
    ),
    kept as (
      update ${orderKeys} set
        ${column.turn} = case when ${orderKeys.turn} = given.turn then given.next else ${NO_TURN} end,
        ${column.receivedAt} = case when ${isLater} then given.received_at else ${orderKeys.receivedAt} end,
        ${column.orderPlace} = case when ${isLater} then given.order_place else ${orderKeys.orderPlace} end,
        ${column.eventId} = case when ${isLater} then given.event_id else ${orderKeys.eventId} end
      from known as given where (${orderKeys.source}, ${orderKeys.orderKey}) = (given.source, given.order_key)
    )
    insert into ${orderKeys} (
      ${column.source}, ${column.orderKey}, ${column.turn}, ${column.receivedAt}, ${column.orderPlace}, ${column.eventId}
    )
    select source, order_key, next, received_at, order_place, event_id from given
    where (source, order_key) not in (select source, order_key from known) order by source, order_key`;
}

/** Whether the current event's order key has another turn than this one. */
export const turnIsNot = (turn: SQL) => sql`exists (
      select from ${orderKeys} where (${orderKeys.source}, ${orderKeys.orderKey}) = (${events.source}, ${events.orderKey})
        and ${orderKeys.turn} is distinct from ${turn})`;

const NO_TURN = sql.raw(`'00000000-0000-0000-0000-000000000000'::uuid`);

/** A line as one string, for maps. */
export function lineText({ source, orderKey }: LineKey): string {
  return JSON.stringify([source, orderKey]);
}
