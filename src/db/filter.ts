import { type SQL, sql } from 'drizzle-orm';

/** Which events an operator means. What isn't said doesn't restrict. */
export interface EventFilter {
  readonly source?: string | undefined;
  readonly id?: string | undefined;
  readonly type?: string | undefined;
  /** Received at or after. */
  readonly since?: Date | undefined;
  /** Received before. */
  readonly until?: Date | undefined;
}

/** Conditions on `webhook_events event`. */
export function matches({ source, id, type, since, until }: EventFilter): SQL {
  const conditions = [
    source === undefined ? undefined : sql`event.source = ${source}`,
    id === undefined ? undefined : sql`event.event_id = ${id}`,
    type === undefined ? undefined : sql`event.type = ${type}`,
    since && sql`event.received_at >= ${since.toISOString()}::timestamptz`,
    until && sql`event.received_at < ${until.toISOString()}::timestamptz`,
  ];
  return sql.join([sql`true`, ...conditions.filter((condition) => condition !== undefined)], sql` and `);
}
