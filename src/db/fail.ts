import { sql } from 'drizzle-orm';
import { TICKET_GRACE_MS, type Ticket } from '../queue/tickets.ts';
import { type Database, run } from './client.ts';

export interface Failure extends Ticket {
  readonly error: string;
  /** Parked, or to be tried again, but not before this. */
  readonly parked: boolean;
  readonly notBefore: Date;
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
      not_before = failure.not_before,
      due_at = failure.not_before + ${`${TICKET_GRACE_MS} milliseconds`}::interval,
      status = case when failure.parked then 'parked' else event.status end,
      finished_at = case when failure.parked then ${now.toISOString()}::timestamptz end
    from unnest(${column((failure) => failure.source)}::text[], ${column((failure) => failure.id)}::text[],
                ${column((failure) => failure.error)}::text[], ${column((failure) => failure.parked)}::boolean[],
                ${column((failure) => failure.notBefore.toISOString())}::timestamptz[])
      as failure (source, event_id, error, parked, not_before)
    where (event.source, event.event_id) = (failure.source, failure.event_id) and event.status = 'pending'`,
  );
}
