import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import { type EventKey, TICKET_GRACE_MS } from './keys.ts';
import { webhookEvents as events } from './schema.ts';

export interface Failure extends EventKey {
  readonly error: string;
  /** If not parked, the event is tried again, but not before `notBefore`. */
  readonly parked: boolean;
  readonly notBefore: Date;
}

const eventColumn = columnNames(events);

/** Counts an attempt of each event and keeps its error. An event that is no longer pending stays as it is. */
export async function recordFailures(db: Database, failures: readonly Failure[], now: Date): Promise<void> {
  if (failures.length === 0) return;
  const column = (read: (failure: Failure) => string | boolean) => sql.param(failures.map(read));
  await run(
    db,
    sql`
    update ${events} set
      ${eventColumn.attempts} = ${events.attempts} + 1,
      ${eventColumn.lastError} = failure.error,
      ${eventColumn.notBefore} = failure.not_before,
      ${eventColumn.dueAt} = failure.not_before + ${`${TICKET_GRACE_MS} milliseconds`}::interval,
      ${eventColumn.status} = case when failure.parked then 'parked' else ${events.status} end,
      ${eventColumn.finishedAt} = case when failure.parked then ${now.toISOString()}::timestamptz end
    from unnest(${column(({ source }) => source)}::text[], ${column(({ eventId }) => eventId)}::text[],
                ${column(({ error }) => error)}::text[], ${column(({ parked }) => parked)}::boolean[],
                ${column(({ notBefore }) => notBefore.toISOString())}::timestamptz[])
      as failure (source, event_id, error, parked, not_before)
    where (${events.source}, ${events.eventId}) = (failure.source, failure.event_id) and ${events.status} = 'pending'`,
  );
}

/** Parks events without another try. No attempt is counted, and finished events stay finished. */
export async function parkEvents(
  db: Database,
  keys: readonly EventKey[],
  error: string,
  now: Date,
): Promise<EventKey[]> {
  if (keys.length === 0) return [];
  return run<EventKey & Record<string, unknown>>(
    db,
    sql`
    update ${events} set
      ${eventColumn.status} = 'parked', ${eventColumn.lastError} = ${error}, ${eventColumn.finishedAt} = ${now.toISOString()}::timestamptz
    from unnest(${sql.param(keys.map(({ source }) => source))}::text[],
                ${sql.param(keys.map(({ eventId }) => eventId))}::text[]) as key (source, event_id)
    where (${events.source}, ${events.eventId}) = (key.source, key.event_id) and ${events.status} = 'pending'
    returning ${events.source} as source, ${events.eventId} as "eventId"`,
  );
}
