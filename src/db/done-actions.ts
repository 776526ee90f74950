// What became of an action of an operator, and how it is taken back.
import { sql } from 'drizzle-orm';
import { noteAction, type OperatorAction } from './actions.ts';
import { type Database, run } from './client.ts';
import { type ActionName, effects, events, UNDO } from './schema.ts';
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
const itsEvent = sql`(${events.source}, ${events.eventId}) = (${effects.source}, ${effects.eventId})`;

/** What became of a retry or a rerun: how many of its events and effects still wait, and how many are parked again. */
export async function loadProgress(db: Database, done: DoneAction): Promise<{ pending: number; parked: number }> {
  const [row] = await run<{ pending: number; parked: number }>(
    db,
    sql`
    select ${sql.join(
      (['pending', 'parked'] as const).map(
        (status) => sql`(
          select count(*) from ${events} where ${events.status} = ${sql.raw(`'${status}'`)} and ${isLastAction(done)}
        )::int + (
          select count(*) from ${effects} join ${events} on ${itsEvent}
          where ${effects.status} = ${sql.raw(`'${status}'`)} and ${isLastAction(done)}
        )::int as ${sql.identifier(status)}`,
      ),
      sql`, `,
    )}`,
  );
  return row ?? { pending: 0, parked: 0 };
}

/**
 * Takes an action back as far as it can be: what was discarded is parked again, and so is what was retried and still
 * waits. Deleted effects, and what has run, stay as they are.
 */
export async function undoAction(
  db: Database,
  done: DoneAction,
  { who, at: time }: Pick<OperatorAction, 'who' | 'at'>,
): Promise<{ events: number; effects: number }> {
  const { action, received: [from, to] = [time, time] } = done;
  const note = noteAction({ at: time, who, action: UNDO, reason: undefined });
  const isUndone =
    action === 'discard'
      ? sql`${events.receivedAt} between ${at(from)} and ${at(to)} + interval '1 millisecond'
          and ${events.status} = 'ignored' and ${events.completions} = 0`
      : sql`${events.status} = 'pending' and ${events.attempts} = 0 and ${events.failure} is not null`;
  const [row] = await run<{ events: number; effects: number }>(
    db,
    sql`
    with undone_effects as (
      update ${effects} set ${effectColumn.status} = 'parked' from ${events}
      where ${action === 'retry'} and ${effects.status} = 'pending' and ${effects.attempts} = 0
        and ${effects.failure} is not null and ${itsEvent} and ${isLastAction(done)}
      returning ${effects.source} as source, ${effects.eventId} as event_id
    ),
    undone_events as (
      update ${events} set ${eventColumn.status} = 'parked', ${eventColumn.finishedAt} = ${at(time)},
        ${eventColumn.summary} = null, ${note}
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
