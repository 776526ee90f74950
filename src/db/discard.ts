import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { type EventFilter, matches } from './filter.ts';

/** Gives parked events up, for a reason that is kept. They count as ignored, and their error stays readable. */
export async function discardParked(db: Database, filter: EventFilter, reason: string): Promise<number> {
  const rows = await run(
    db,
    sql`
    update webhook_events event set status = 'ignored', summary = ${`discarded: ${reason}`}
    where status = 'parked' and ${matches(filter)}
    returning 1`,
  );
  return rows.length;
}
