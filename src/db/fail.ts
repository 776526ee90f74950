import { sql } from 'drizzle-orm';
import type { Ticket } from '../ticket.ts';
import { type Database, run } from './client.ts';

export interface Failure extends Ticket {
  readonly error: string;
  /** Parked, or to be tried again at `dueAt`. */
  readonly parked: boolean;
  readonly dueAt: Date;
}

/** Counts an attempt of each event and keeps its error. What is no longer pending stays as it is. */
export async function recordFailures(db: Database, failures: readonly Failure[], now: Date): Promise<void> {
  if (failures.length === 0) return;
  const column = (read: (failure: Failure) => string | boolean) => sql.param(failures.map(read));
  await run(
    db,
    sql`
    update webhook_events event set
      attempts = attempts + 1,
      last_error = failure.error,
      due_at = failure.due_at,
      status = case when failure.parked then 'parked' else event.status end,
      finished_at = case when failure.parked then ${now.toISOString()}::timestamptz end
    from unnest(${column((failure) => failure.source)}::text[], ${column((failure) => failure.id)}::text[],
                ${column((failure) => failure.error)}::text[], ${column((failure) => failure.parked)}::boolean[],
                ${column((failure) => failure.dueAt.toISOString())}::timestamptz[])
      as failure (source, event_id, error, parked, due_at)
    where (event.source, event.event_id) = (failure.source, failure.event_id) and event.status = 'pending'`,
  );
}
