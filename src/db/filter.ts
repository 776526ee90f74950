import { type SQL, sql } from 'drizzle-orm';
import { webhookEvents as events } from './schema.ts';

/** The events that an operator means. A field that is not set doesn't restrict. */
export interface EventFilter {
  readonly source?: string | undefined;
  readonly eventId?: string | undefined;
  readonly type?: string | undefined;
  /** Received at or after. */
  readonly since?: Date | undefined;
  /** Received before. */
  readonly until?: Date | undefined;
}

/** Conditions on a row of `webhook_events`. */
export function matches({ source, eventId, type, since, until }: EventFilter): SQL {
  const conditions = [
    source === undefined ? undefined : sql`${events.source} = ${source}`,
    eventId === undefined ? undefined : sql`${events.eventId} = ${eventId}`,
    type === undefined ? undefined : sql`${events.type} = ${type}`,
    since && sql`${events.receivedAt} >= ${since.toISOString()}::timestamptz`,
    until && sql`${events.receivedAt} < ${until.toISOString()}::timestamptz`,
  ];
  return sql.join([sql`true`, ...conditions.filter((condition) => condition !== undefined)], sql` and `);
}
