import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { webhookDeliveries as deliveries, webhookEffects as effects, webhookEvents as events } from './schema.ts';

/** One number of the metrics. `label` is what its name says: an outcome, a status, or the number of a bucket. */
export interface Measured extends Record<string, unknown> {
  readonly name:
    | 'deliveries'
    | 'pending'
    | 'parked'
    | 'oldest_pending_at'
    | 'seconds_bucket'
    | 'seconds_sum'
    | 'effects'
    | 'oldest_pending_effect_at';
  readonly source: string | null;
  readonly label: string | null;
  readonly value: number;
}

/** Upper bounds of the buckets, in seconds: a queue's second, a minute, the waits of a backlog, a day. */
export const BUCKETS = [0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 3600, 86_400] as const;

/** Everything that /ops/metrics reads from Postgres, in one query. Times are in seconds since 1970. */
export async function loadMetrics(db: Database, now: Date): Promise<Measured[]> {
  const at = sql`${now.toISOString()}::timestamptz`;
  const lastDay = sql`${at} - interval '1 day'`;
  // Not extract: it calculates with numeric, which takes several times as long.
  const epoch = (time: unknown) => sql`date_part('epoch', ${time})`;
  return run<Measured>(
    db,
    sql`
    with pending as (
      select ${events.source} as source, count(*) as number, ${epoch(sql`min(${events.receivedAt})`)} as oldest
      from ${events} where ${events.status} = 'pending' group by 1
    ),
    done as materialized (
      select source, width_bucket(seconds, ${sql.raw(`array[${BUCKETS.join(', ')}]::float[]`)}) as bucket, seconds
      from (
        select ${events.source} as source, ${epoch(sql`${events.finishedAt} - ${events.receivedAt}`)} as seconds
        from ${events} where ${events.status} = 'done' and ${events.receivedAt} > ${lastDay}
      ) as finished
    ),
    pending_effects as (
      select count(*) as number, ${epoch(sql`min(${events.finishedAt})`)} as oldest
      from ${effects} join ${events} on (${events.source}, ${events.eventId}) = (${effects.source}, ${effects.eventId})
      where ${effects.status} = 'pending'
    )
    select 'deliveries' as name, ${deliveries.source} as source, ${deliveries.outcome} as label, ${deliveries.count}::float as value
      from ${deliveries}
    union all select 'pending', source, null, number from pending
    union all select 'oldest_pending_at', source, null, oldest from pending
    union all select 'parked', ${events.source}, null, count(*) from ${events} where ${events.status} = 'parked' group by 2
    union all select 'seconds_bucket', source, bucket::text, count(*) from done group by 2, 3
    union all select 'seconds_sum', source, null, sum(seconds) from done group by 2
    union all select 'effects', null, 'pending', number from pending_effects
    union all select 'oldest_pending_effect_at', null, null, oldest from pending_effects where oldest is not null
    union all select 'effects', null, 'parked', count(*) from ${effects} where ${effects.status} = 'parked'
    union all select 'effects', null, 'sent', count(*) from ${effects} where ${effects.sentAt} > ${lastDay}`,
  );
}
