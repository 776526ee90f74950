import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import type { EffectKey, EventKey } from './keys.ts';

export interface Overdue {
  readonly events: EventKey[];
  readonly effects: EffectKey[];
}

/** Events and effects taken in one statement: as many tickets as five calls of a queue hold. */
export const SWEEP_CHUNK = 500;

/** A ticket that was sent again gets at least until the next sweep. */
const FIRST_INTERVAL = '15 minutes';
/** What is stuck is asked after once a day, until somebody looks at it. */
const LAST_INTERVAL = '1 day';

/**
 * Takes what is overdue and puts its next look off: by as long as it has been waiting already, so that the intervals
 * double, a backlog isn't multiplied by its own tickets, and one bad row can't stand before the rest.
 * Two sweeps at once share the work: neither waits for a row that the other holds.
 */
export async function takeOverdue(db: Database, now: Date): Promise<Overdue> {
  const at = sql`${now.toISOString()}::timestamptz`;
  const next = (since: string) =>
    sql`${at} + least(greatest(${at} - ${sql.raw(since)}, ${FIRST_INTERVAL}::interval), ${LAST_INTERVAL}::interval)`;
  const rows = await run<{ source: string; eventId: string; name: string | null }>(
    db,
    sql`
    with overdue_events as (
      select source, event_id from webhook_events
      where status = 'pending' and due_at <= ${at}
      order by due_at limit ${SWEEP_CHUNK} for update skip locked
    ),
    overdue_effects as (
      select source, event_id, name, event.finished_at from webhook_effects effect
      join webhook_events event using (source, event_id)
      where effect.status = 'pending' and effect.due_at <= ${at}
      order by effect.due_at limit ${SWEEP_CHUNK} for update of effect skip locked
    ),
    events as (
      update webhook_events event set due_at = ${next('event.received_at')}
      from overdue_events overdue where (event.source, event.event_id) = (overdue.source, overdue.event_id)
      returning event.source, event.event_id
    ),
    effects as (
      update webhook_effects effect set due_at = ${next('coalesce(overdue.finished_at, effect.due_at)')}
      from overdue_effects overdue
      where (effect.source, effect.event_id, effect.name) = (overdue.source, overdue.event_id, overdue.name)
      returning effect.source, effect.event_id, effect.name
    )
    select source, event_id as "eventId", null as name from events
    union all
    select source, event_id, name from effects`,
  );
  const events: EventKey[] = [];
  const effects: EffectKey[] = [];
  for (const { source, eventId, name } of rows) {
    if (name === null) events.push({ source, eventId });
    else effects.push({ source, eventId, name });
  }
  return { events, effects };
}
