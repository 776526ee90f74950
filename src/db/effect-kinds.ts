import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { webhookEffects as effects, webhookEvents as events } from './schema.ts';
import { HOURS, isoOf } from './status.ts';

/** What became of the effects of one kind. The names are those of the API. */
export interface EffectKindStatus {
  readonly kind: string;
  /** Null if it was not in the last day. */
  readonly last_sent_at: string | null;
  /** Effects sent in each of the last 24 hours, the last hour at the end. */
  readonly sent_per_hour: readonly number[];
  readonly pending: number;
  readonly parked: number;
  readonly oldest_pending_at: string | null;
  /** From the completion of the event to the sending, of the effects sent in the last day. Older events don't count. */
  readonly seconds_to_sent: { readonly p50: number | null; readonly p95: number | null };
}

/**
 * One query. It reads the effects that were sent in the last day, and what is pending or parked: each has an index. Their
 * events are read for two days only, by the index of received_at, because a look at all of them would take too long.
 */
export async function loadEffectKinds(db: Database, now: Date): Promise<EffectKindStatus[]> {
  const at = sql`${now.toISOString()}::timestamptz`;
  const itsEvent = sql`(${events.source}, ${events.eventId}) = (${effects.source}, ${effects.eventId})`;
  const rows = await run<Row>(
    db,
    sql`
    with recent as materialized (
      select ${effects.kind} as kind, ${effects.sentAt} as sent_at,
        floor(date_part('epoch', ${at} - ${effects.sentAt}) / 3600)::int as hours_ago,
        date_part('epoch', ${effects.sentAt} - ${events.finishedAt}) as seconds
      from ${effects} left join ${events} on ${itsEvent} and ${events.receivedAt} > ${at} - make_interval(days => 2)
      where ${effects.sentAt} > ${at} - make_interval(hours => ${HOURS}) and ${effects.sentAt} <= ${at}
    ),
    last_day as (
      select kind, max(sent_at) as last_sent_at,
        percentile_cont(array[0.5, 0.95]) within group (order by seconds) as percentiles
      from recent group by kind
    ),
    per_hour as (
      select kind, json_object_agg(hours_ago, sent) as sent
      from (select kind, hours_ago, count(*)::int as sent from recent group by 1, 2) as counted group by kind
    ),
    pending as (
      select ${effects.kind} as kind, count(*)::int as pending, min(${events.finishedAt}) as oldest_pending_at
      from ${effects} join ${events} on ${itsEvent} where ${effects.status} = 'pending' group by 1
    ),
    parked as (
      select ${effects.kind} as kind, count(*)::int as parked
      from ${effects} where ${effects.status} = 'parked' group by 1
    )
    select kind, last_sent_at, coalesce(sent, '{}') as sent, coalesce(pending, 0) as pending,
      coalesce(parked, 0) as parked, oldest_pending_at, percentiles[1] as p50, percentiles[2] as p95
    from last_day full join pending using (kind) full join parked using (kind) left join per_hour using (kind)
    order by kind`,
  );
  return rows.map(({ kind, sent, pending, parked, ...row }) => ({
    kind,
    last_sent_at: isoOf(row.last_sent_at),
    sent_per_hour: Array.from({ length: HOURS }, (_, n) => sent[String(HOURS - 1 - n)] ?? 0),
    pending,
    parked,
    oldest_pending_at: isoOf(row.oldest_pending_at),
    seconds_to_sent: { p50: row.p50, p95: row.p95 },
  }));
}

interface Row extends Record<string, unknown> {
  kind: string;
  last_sent_at: string | null;
  sent: Record<string, number>;
  pending: number;
  parked: number;
  oldest_pending_at: string | null;
  p50: number | null;
  p95: number | null;
}
