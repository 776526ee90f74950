// What became of an action of an operator, and how it is taken back.
import { type SQL, sql } from 'drizzle-orm';
import { type ActionCounts, noteAction, type OperatorAction } from './actions.ts';
import { type Database, run } from './client.ts';
import { matches } from './filter.ts';
import { loadProblems, type Problem } from './problems.ts';
import { type ActionName, effects, events, itsEvent, UNDO, type WorkTable } from './schema.ts';
import { at, columnNames } from './sql.ts';

const eventColumn = columnNames(events);
const effectColumn = columnNames(effects);

/** An action that was done: when, and between which times its events were received. */
export interface DoneAction {
  readonly action: ActionName;
  readonly at: Date;
  readonly received?: readonly [from: Date, to: Date] | undefined;
}

const isLastAction = ({ action, at: time }: DoneAction) => sql`
  (${events.actions} -> -1 ->> 'at', ${events.actions} -> -1 ->> 'action') = (${time.toISOString()}, ${action})`;

/** Whether it was a retry of this effect, and not only of others of the same event. */
const isOwnEffect = ({ action, at: time }: DoneAction) => sql`
  (${action === 'retry'} and ${events.actions} @> jsonb_build_array(
    jsonb_build_object('at', ${time.toISOString()}::text, 'effects', jsonb_build_array(${effects.name}))))`;

/** Whether an operator took it back: a discard, or a retry before its first attempt. */
const isTakenBack = (table: WorkTable, { action }: DoneAction) =>
  sql`(${events.actions} -> -1 ->> 'action' = ${UNDO} and (${action === 'discard'} or ${table.attempts} = 0)) is true`;

/** A retry that can still be taken back. (A rerun clears `failure`.) */
const hasNotBegun = (table: WorkTable) =>
  sql`${table.status} = 'pending' and ${table.attempts} = 0 and ${table.failure} is not null`;

export interface Progress {
  /** Not tried yet. */
  readonly pending: number;
  /** Of these, how many can be taken back. */
  readonly stoppable: number;
  /** Taken back: parked as before. */
  readonly takenBack: number;
  /** They failed, and are tried again or parked. */
  readonly failed: number;
  /** Effects of events that are done since, which are not sent yet. */
  readonly unsent: number;
  /** Why they fail. */
  readonly problems: readonly Problem[];
}

/** What became of the events and effects of an action. What is not among these numbers is finished. */
export async function loadProgress(db: Database, done: DoneAction): Promise<Progress> {
  const isOfAction = matches({ action_at: done.at });
  // Other effects count only if the runs since then enqueued them: their events are done since.
  const isOwn = isOwnEffect(done);
  const isAbout = (table: WorkTable) =>
    table === events
      ? isOfAction
      : sql`${isOfAction} and (${isOwn} or (${events.status} = 'done' and ${events.finishedAt} >= ${at(done.at)}))`;
  const rowsOf = (table: WorkTable, from: SQL, own: SQL, status: string) => sql`
      select ${table.status} as status, ${table.attempts} as attempts, ${own} as own,
        ${hasNotBegun(table)} and ${isLastAction(done)} as stoppable, ${isTakenBack(table, done)} as taken_back
      from ${from} where ${table.status} = ${sql.raw(status)} and ${isAbout(table)}`;
  const both = (status: string) => sql`
      ${rowsOf(events, sql`${events}`, sql`true`, status)} union all
      ${rowsOf(effects, sql`${effects} join ${events} on ${itsEvent}`, isOwn, status)}`;
  const [[row], problems] = await Promise.all([
    run<Omit<Progress, 'problems'>>(
      db,
      sql`
      with open as (${both("'pending'")} union all ${both("'parked'")})
      select count(*) filter (where own and status = 'pending' and attempts = 0)::int as pending,
        count(*) filter (where own and stoppable)::int as stoppable,
        count(*) filter (where own and status = 'parked' and taken_back)::int as "takenBack",
        count(*) filter (where own and not (status = 'parked' and taken_back) and (status = 'parked' or attempts > 0))::int as failed,
        count(*) filter (where not own)::int as unsent
      from open`,
    ),
    loadProblems(db, (table) => sql`${isAbout(table)} and not ${isTakenBack(table, done)}`),
  ]);
  return { ...(row ?? { pending: 0, stoppable: 0, takenBack: 0, failed: 0, unsent: 0 }), problems };
}

/**
 * Takes an action back as far as it can be: what was discarded is parked again, and so is what was retried and still
 * waits. Deleted effects, and what has run, stay as they are.
 */
export async function undoAction(
  db: Database,
  done: DoneAction,
  { who, at: time }: Pick<OperatorAction, 'who' | 'at'>,
): Promise<ActionCounts> {
  const { action, received: [from, to] = [time, time] } = done;
  const note = noteAction({ at: time, who, action: UNDO, reason: undefined });
  const isUndone =
    action === 'discard'
      ? sql`${events.receivedAt} between ${at(from)} and ${at(to)} + interval '1 millisecond'
          and ${events.status} = 'ignored' and ${events.completions} = 0`
      : hasNotBegun(events);
  const [row] = await run<ActionCounts>(
    db,
    sql`
    with undone_effects as (
      update ${effects} set ${effectColumn.status} = 'parked' from ${events}
      where ${action === 'retry'} and ${hasNotBegun(effects)} and ${itsEvent} and ${isLastAction(done)} and ${isOwnEffect(done)}
      returning ${effects.source} as source, ${effects.eventId} as event_id
    ),
    undone_events as (
      update ${events} set ${eventColumn.status} = 'parked', ${eventColumn.summary} = null,
        ${eventColumn.finishedAt} = coalesce((${events.actions} -> -1 -> 'was' ->> 'finished_at')::timestamptz, ${at(time)}),
        ${note}
      where ${action !== 'rerun'} and ${isUndone} and ${isLastAction(done)}
      returning ${events.source}, ${events.eventId}
    ),
    noted as (
      update ${events} set ${note}
      from (select distinct source, event_id from undone_effects except select * from undone_events) as only_effects
      where (${events.source}, ${events.eventId}) = (only_effects.source, only_effects.event_id)
    )
    select (select count(*)::int from undone_events) as events, (select count(*)::int from undone_effects) as effects`,
  );
  return row ?? { events: 0, effects: 0 };
}
