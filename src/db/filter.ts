import { type SQL, sql } from 'drizzle-orm';
import { webhookEffects as effects, webhookEvents as events } from './schema.ts';

/** The events that an operator means. A field that is not set doesn't restrict. */
export interface EventFilter {
  readonly source?: string | undefined;
  readonly eventId?: string | undefined;
  readonly status?: (typeof events.status.enumValues)[number] | undefined;
  readonly type?: string | undefined;
  /** With an effect of this status. There is no `sent`: those are too many to be found by an index. */
  readonly effectStatus?: 'pending' | 'parked' | undefined;
  /** Received at or after. */
  readonly since?: Date | undefined;
  /** Received before. */
  readonly until?: Date | undefined;
}

/** Conditions on a row of `webhook_events`. */
export function matches({ source, eventId, status, type, effectStatus, since, until }: EventFilter): SQL {
  const conditions = [
    source === undefined ? undefined : sql`${events.source} = ${source}`,
    eventId === undefined ? undefined : sql`${events.eventId} = ${eventId}`,
    status === undefined ? undefined : sql`${events.status} = ${status}`,
    type === undefined ? undefined : sql`${events.type} = ${type}`,
    effectStatus === undefined ? undefined : hasEffect(effectStatus),
    since && sql`${events.receivedAt} >= ${since.toISOString()}::timestamptz`,
    until && sql`${events.receivedAt} < ${until.toISOString()}::timestamptz`,
  ];
  return sql.join([sql`true`, ...conditions.filter((condition) => condition !== undefined)], sql` and `);
}

/** The status is part of the text, and not a parameter: only so can Postgres see that a partial index has all of them. */
function hasEffect(status: 'pending' | 'parked'): SQL {
  return sql`(${events.source}, ${events.eventId}) in (
    select ${effects.source}, ${effects.eventId} from ${effects} where ${effects.status} = ${sql.raw(`'${status}'`)})`;
}
