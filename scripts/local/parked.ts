import { sql } from 'drizzle-orm';
import { type Database, run } from '../../src/db/client.ts';
import { type EventFilter, matches } from '../../src/db/filter.ts';

/** What fits on a screen. A filter shows the others. */
const MAX_LISTED = 50;

interface Parked extends Record<string, unknown> {
  readonly source: string;
  readonly eventId: string;
  readonly type: string | null;
  /** Of an effect. */
  readonly name: string | null;
  readonly attempts: number;
  readonly receivedAt: string;
  readonly error: string | null;
  readonly total: number;
}

/** Parked events and effects, the newest first, and how many there are. */
export async function listParked(db: Database, filter: EventFilter): Promise<string> {
  const rows = await run<Parked>(
    db,
    sql`
    with parked as (
      select source, event_id, type, null as name, attempts, received_at, last_error as error
      from webhook_events event where status = 'parked' and ${matches(filter)}
      union all
      select source, event_id, event.type, effect.name, effect.attempts, event.received_at, effect.last_error
      from webhook_effects effect join webhook_events event using (source, event_id)
      where effect.status = 'parked' and ${matches(filter)}
    )
    select source, event_id as "eventId", type, name, attempts, error, count(*) over ()::int as total,
      to_char(received_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS"Z"') as "receivedAt"
    from parked order by received_at desc, event_id, name limit ${MAX_LISTED}`,
  );
  const total = rows[0]?.total ?? 0;
  const shown = total > rows.length ? `, the newest ${rows.length} of them:` : total > 0 ? ':' : '';
  return [`${total} parked${shown}`, ...rows.map(lineOf)].join('\n');
}

function lineOf({ receivedAt, source, eventId, type, name, attempts, error }: Parked): string {
  const what = name === null ? `${source}  ${eventId}` : `${source}  ${eventId}  effect ${name}`;
  return `${receivedAt}  ${what}  ${type ?? 'no type'}  ${attempts} attempts  ${error ?? ''}`;
}
