import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { webhookEffects as effects, webhookEvents as events } from './schema.ts';
import { seenSources } from './seen-sources.ts';

/** What an operator sees first. The names are those of the API. */
export interface Status {
  readonly sources: readonly SourceStatus[];
  readonly effects: {
    readonly pending: number;
    readonly parked: number;
    readonly sent_last_day: number;
    readonly oldest_pending_at: string | null;
  };
  readonly totals: { readonly pending: number; readonly parked: number; readonly oldest_pending_at: string | null };
}

export interface SourceStatus {
  readonly source: string;
  /** Null if it was not in the last LOOK_BACK_DAYS days. */
  readonly last_accepted_at: string | null;
  /** Events received in each of the last 24 hours, the last hour at the end. */
  readonly accepted_per_hour: readonly number[];
  readonly pending: number;
  readonly parked: number;
  readonly oldest_pending_at: string | null;
  /** Of the events received in the last day that are done. */
  readonly seconds_to_done: { readonly p50: number | null; readonly p95: number | null };
}

export const HOURS = 24;

/** How far back the last event of a source is looked for. The list of its events tells more, but takes longer. */
export const LOOK_BACK_DAYS = 7;

/**
 * One query. It reads the events of the last day (by their time of receipt), and what is pending or parked (each has an index
 * of its own). Only if a source was silent for a day, the events of the days before are read too.
 */
export async function loadStatus(db: Database, configured: readonly string[], now: Date): Promise<Status> {
  const at = sql`${now.toISOString()}::timestamptz`;
  const rows = await run<Row>(
    db,
    sql`
    with recursive ${seenSources},
    sources as (
      select source from seen_sources where source is not null
      union select unnest(${sql.param([...configured])}::text[])
    ),
    recent as materialized (
      select ${events.source} as source, ${events.receivedAt} as received_at,
        -- Not extract: it calculates with numeric, which takes several times as long.
        floor(date_part('epoch', ${at} - ${events.receivedAt}) / 3600)::int as hours_ago,
        case when ${events.status} = 'done'
          then date_part('epoch', ${events.finishedAt} - ${events.receivedAt}) end as seconds
      from ${events}
      where ${events.receivedAt} > ${at} - make_interval(hours => ${HOURS}) and ${events.receivedAt} <= ${at}
    ),
    last_day as (
      select source, max(received_at) as last_accepted_at,
        percentile_cont(array[0.5, 0.95]) within group (order by seconds) as percentiles
      from recent group by source
    ),
    silent as (select source from seen_sources where source is not null except select source from last_day),
    last_week as (
      select ${events.source} as source, max(${events.receivedAt}) as last_accepted_at from ${events}
      where exists (select from silent) and ${events.source} in (select source from silent)
        and ${events.receivedAt} > ${at} - make_interval(days => ${LOOK_BACK_DAYS})
        and ${events.receivedAt} <= ${at} - make_interval(hours => ${HOURS})
      group by 1
    ),
    per_hour as (
      select source, json_object_agg(hours_ago, accepted) as accepted
      from (select source, hours_ago, count(*)::int as accepted from recent group by 1, 2) as counted group by source
    ),
    pending as (
      select ${events.source} as source, count(*)::int as pending, min(${events.receivedAt}) as oldest_pending_at
      from ${events} where ${events.status} = 'pending' group by 1
    ),
    parked as (
      select ${events.source} as source, count(*)::int as parked
      from ${events} where ${events.status} = 'parked' group by 1
    ),
    pending_effects as (
      select count(*)::int as pending, min(${events.finishedAt}) as oldest_pending_at
      from ${effects} join ${events} on (${events.source}, ${events.eventId}) = (${effects.source}, ${effects.eventId})
      where ${effects.status} = 'pending'
    )
    select sources.source, coalesce(pending, 0) as pending, coalesce(parked, 0) as parked, oldest_pending_at,
      percentiles[1] as p50, percentiles[2] as p95,
      coalesce(accepted, '{}') as accepted,
      coalesce(last_day.last_accepted_at, last_week.last_accepted_at) as last_accepted_at,
      null::int as sent_last_day
    from sources left join last_day using (source) left join last_week using (source) left join per_hour using (source)
      left join pending using (source) left join parked using (source)
    union all
    select null, pending,
      (select count(*)::int from ${effects} where ${effects.status} = 'parked'), oldest_pending_at, null, null, '{}', null,
      (select count(*)::int from ${effects} where ${effects.sentAt} > ${at} - make_interval(hours => ${HOURS}))
    from pending_effects
    order by 1`,
  );
  const sources = rows.flatMap((row) => (row.source === null ? [] : [sourceStatus(row.source, row)]));
  const ofEffects = rows.find(({ source }) => source === null);
  const oldest = sources.flatMap(({ oldest_pending_at }) => oldest_pending_at ?? []).sort()[0] ?? null;
  return {
    sources,
    effects: {
      pending: ofEffects?.pending ?? 0,
      parked: ofEffects?.parked ?? 0,
      sent_last_day: ofEffects?.sent_last_day ?? 0,
      oldest_pending_at: isoOf(ofEffects?.oldest_pending_at ?? null),
    },
    totals: {
      pending: sources.reduce((sum, { pending }) => sum + pending, 0),
      parked: sources.reduce((sum, { parked }) => sum + parked, 0),
      oldest_pending_at: oldest,
    },
  };
}

function sourceStatus(source: string, row: Row): SourceStatus {
  return {
    source,
    last_accepted_at: isoOf(row.last_accepted_at),
    accepted_per_hour: Array.from({ length: HOURS }, (_, n) => row.accepted[String(HOURS - 1 - n)] ?? 0),
    pending: row.pending,
    parked: row.parked,
    oldest_pending_at: isoOf(row.oldest_pending_at),
    seconds_to_done: { p50: row.p50, p95: row.p95 },
  };
}

/** Postgres writes `2026-03-01 12:00:00+00`. */
export function isoOf(time: string | null): string | null {
  return time === null ? null : new Date(time).toISOString();
}

interface Row extends Record<string, unknown> {
  source: string | null;
  pending: number;
  parked: number;
  oldest_pending_at: string | null;
  last_accepted_at: string | null;
  p50: number | null;
  p95: number | null;
  accepted: Record<string, number>;
  sent_last_day: number | null;
}
