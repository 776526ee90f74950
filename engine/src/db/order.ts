// Events with an order key: who is next, who waits, and whose turn it is.
import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { eventOf, LOADED, type LoadedEvent, type LoadedRow, MAX_LOADED_BYTES } from './events.ts';
import type { EventKey } from './keys.ts';
import { bodies, events, orderKeys } from './schema.ts';
import { columnNames, lockName, rowsOf } from './sql.ts';

export interface LineKey {
  readonly source: string;
  readonly orderKey: string;
}

/** The events of one source with the same order key. */
export interface Line extends LineKey {
  /** Changes with each completion. Null as long as none was completed. Load it before a handler reads what they write. */
  turn: string | null;
  /** How many events behind its own a run wants to see in its commit. */
  lookFor?: number;
  /** Those that the last commit has seen. */
  next?: readonly LoadedEvent[] | undefined;
}

/** A line, and its first events in their order. */
export interface LoadedLine extends Line {
  readonly events: readonly LoadedEvent[];
}

const column = columnNames(orderKeys);

/**
 * Which events are in line: what is pending, and what is parked as long as the others wait for it. A suspected replay is
 * not, or a stranger with a captured body could stop a line. The index `events_in_line` has the same condition.
 */
const isInLine = (alias: string) =>
  sql.raw(`(${alias}.status = 'pending' or (${alias}.status = 'parked' and ${alias}.holds))`);

/** The place of an event in its line. */
const placeOf = (alias: string) => sql.raw(`(${alias}.received_at, ${alias}.order_place, ${alias}.event_id)`);

const PLACE = sql`(${events.receivedAt}, ${events.orderPlace}, ${events.eventId})`;

/** Of the event that a statement looks at: whether no event of its line must be worked before it. */
export const IS_FIRST = sql`(${events.orderKey} is null or not exists (
      select from ${events} as other
      where (other.source, other.order_key) = (${events.source}, ${events.orderKey}) and ${isInLine('other')}
        and ${placeOf('other')} < ${PLACE}))`;

/** Of the event that a statement looks at: how many wait for it. */
export const WAITING = sql`(case when ${events.orderKey} is null or not (${events.status} = 'pending' or coalesce(${events.holds}, false)) then 0 else (
      select count(*)::int from ${events} as other
      where (other.source, other.order_key) = (${events.source}, ${events.orderKey}) and ${isInLine('other')}
        and other.status = 'pending' and ${placeOf('other')} > ${PLACE}) end)`;

/** Loads the turns of lines, and their first events: at most `perLine` of each. */
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
      select other.source, other.event_id, row_number() over (order by ${placeOf('other')}) as number
      from ${events} as other
      where (other.source, other.order_key) = (key.source, key.order_key) and ${isInLine('other')}
      order by other.received_at, other.order_place, other.event_id limit ${perLine}
    ) as line
    join ${events} on (${events.source}, ${events.eventId}) = (line.source, line.event_id)
    left join ${bodies} on (${bodies.source}, ${bodies.eventId}) = (line.source, line.event_id)
    order by line.source, ${events.orderKey}, line.number`;
}

/** The lines that have events, with those. */
export function linesIn(rows: readonly LineRow[]): LoadedLine[] {
  const byLine = Map.groupBy(rows, ({ source, orderKey }) => lineText({ source, orderKey: orderKey ?? '' }));
  return [...byLine.values()].flatMap((those) => {
    const [first] = those;
    if (!first) return [];
    const { source, orderKey, turn } = first;
    return [{ source, orderKey: orderKey ?? '', turn, events: those.map(({ turn, ...row }) => eventOf(row)) }];
  });
}

/** The first event of each of these lines, if it is pending. */
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

/** A completion of events of one line, and the turn after it. */
export interface Turn {
  readonly line: Line;
  readonly last: LoadedEvent;
  readonly next: string;
}

/**
 * The first statement of a transaction that completes events of lines: nobody else may have completed an event of them since
 * they were loaded. Otherwise it breaks `turn_was_kept`, or adds a row that is there already.
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

const NO_TURN = sql.raw(`'00000000-0000-0000-0000-000000000000'::uuid`);

/** A line as one string, for maps. */
export function lineText({ source, orderKey }: LineKey): string {
  return JSON.stringify([source, orderKey]);
}
