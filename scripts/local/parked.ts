import { sql } from 'drizzle-orm';
import { type Database, run } from '../../src/db/client.ts';
import { type EventFilter, matches } from '../../src/db/filter.ts';
import { webhookEffects as effects, webhookEvents as events } from '../../src/db/schema.ts';

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
      select ${events.source} as source, ${events.eventId} as event_id, ${events.type} as type, null as name,
             ${events.attempts} as attempts, ${events.receivedAt} as received_at, ${events.lastError} as error
      from ${events} where ${events.status} = 'parked' and ${matches(filter)}
      union all
      select ${events.source}, ${events.eventId}, ${events.type}, ${effects.name},
             ${effects.attempts}, ${events.receivedAt}, ${effects.lastError}
      from ${effects} join ${events} on (${events.source}, ${events.eventId}) = (${effects.source}, ${effects.eventId})
      where ${effects.status} = 'parked' and ${matches(filter)}
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
