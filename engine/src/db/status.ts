// What an operator sees first, and what the metrics are made of. The shapes are those of the API.
import { sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import * as v from 'valibot';
import { sum } from '../shared/counts.ts';
import { type Database, run } from './client.ts';
import { HELD } from './pauses.ts';
import { loadProblems, MAX_PROBLEMS, Problem } from './problems.ts';
import { alerts, effects, events, itsEvent, pauses, reconciles, sendableSince } from './schema.ts';
import { at, isoTimes } from './sql.ts';
import { Count, seenSources, Time, TimeOrNull } from './views.ts';

const HOURS = 24;

/** How far back the last event of a source is looked for. The list of its events tells more, but takes longer. */
export const LOOK_BACK_DAYS = 7;

const PerHour = v.pipe(
  v.array(Count),
  v.length(HOURS),
  v.description('In each of the last 24 hours, the last hour at the end'),
);
const Percentiles = v.strictObject({ p50: v.nullable(v.number()), p95: v.nullable(v.number()) });

export const SourceStatus = v.strictObject({
  source: v.string(),
  last_accepted_at: v.pipe(TimeOrNull, v.description(`Null if it was not in the last ${LOOK_BACK_DAYS} days`)),
  accepted_per_hour: PerHour,
  accepted_last_week: v.pipe(v.nullable(Count), v.description('Of a source that was silent for a day. Null otherwise')),
  unusually_silent: v.pipe(v.boolean(), v.description('Whether there is an alert about its silence')),
  pending: Count,
  parked: Count,
  oldest_pending_at: TimeOrNull,
  seconds_to_done: v.pipe(Percentiles, v.description('From received to done, of the events received in the last day')),
});
export type SourceStatus = v.InferOutput<typeof SourceStatus>;

const Later = v.pipe(Count, v.description('Not among the pending: their handlers want them sent later'));

/** What became of the effects of one kind. */
export const EffectKindStatus = v.strictObject({
  kind: v.string(),
  last_sent_at: v.pipe(TimeOrNull, v.description('Null if it was not in the last day')),
  sent_per_hour: PerHour,
  pending: Count,
  later: Later,
  parked: Count,
  oldest_pending_at: TimeOrNull,
  seconds_to_sent: v.pipe(
    Percentiles,
    v.description(
      'From the completion of the event, or the time that its handler asked for, to the sending, of the effects sent in the last day',
    ),
  ),
});
export type EffectKindStatus = v.InferOutput<typeof EffectKindStatus>;

export const ReconcileStatus = v.strictObject({
  source: v.string(),
  complete_until: v.pipe(Time, v.description('Every event that the provider sent before is here, or was given up')),
  asked_at: v.pipe(
    TimeOrNull,
    v.description('When the provider was last asked up to the present. Null: at the next tick'),
  ),
  listed: v.pipe(Count, v.description('How many events it had sent then')),
  missing: v.pipe(Count, v.description('How many of them were missing here')),
  found: v.pipe(Count, v.description('The last time that any were missing: how many, within a day')),
  found_since: v.pipe(TimeOrNull, v.description('When the earliest of them was sent')),
  found_at: TimeOrNull,
  problem: v.pipe(
    v.nullable(v.picklist(reconciles.problem.enumValues)),
    v.description('`failed`: it could not be asked. `unconfirmed`: it lists nothing that is known here'),
  ),
  problem_since: TimeOrNull,
  last_error: v.nullable(v.string()),
  not_before: v.pipe(TimeOrNull, v.description('The provider has asked to wait until then')),
});
export type ReconcileStatus = v.InferOutput<typeof ReconcileStatus>;

export const PauseStatus = v.strictObject({
  kind: v.string(),
  host: v.pipe(v.string(), v.description('Empty: the kind is paused as a whole')),
  paused_at: Time,
  paused_by: v.pipe(v.nullable(v.string()), v.description('The operator. Null: calls have failed')),
  last_error: v.nullable(v.string()),
  waiting: v.pipe(Count, v.description('How many effects wait')),
  next_try_at: v.pipe(TimeOrNull, v.description('Null: not before an operator resumes it')),
});
export type PauseStatus = v.InferOutput<typeof PauseStatus>;
export const PauseList = v.strictObject({ pauses: v.array(PauseStatus) });

export const Status = v.strictObject({
  problems: v.pipe(
    v.array(Problem),
    v.description(`What is parked, and then what keeps failing, the largest groups first: ${MAX_PROBLEMS} at most`),
  ),
  sources: v.array(SourceStatus),
  effects: v.strictObject({
    pending: Count,
    later: Later,
    parked: Count,
    sent_last_day: Count,
    oldest_pending_at: TimeOrNull,
  }),
  effect_kinds: v.array(EffectKindStatus),
  reconciles: v.pipe(
    v.array(ReconcileStatus),
    v.description('The sources whose providers are asked what they have sent'),
  ),
  pauses: v.pipe(v.array(PauseStatus), v.description('The kinds of effects, and their hosts, that are not called now')),
  totals: v.strictObject({ pending: Count, parked: Count, oldest_pending_at: TimeOrNull }),
});
export type Status = v.InferOutput<typeof Status>;

export async function loadStatus(db: Database, configured: readonly string[], now: Date): Promise<Status> {
  const [problems, sources, effect_kinds, reconciles, pauses] = await Promise.all([
    loadProblems(db),
    loadSources(db, configured, now),
    loadEffectKinds(db, now),
    loadReconciles(db, configured),
    loadPauses(db),
  ]);
  return {
    problems,
    sources,
    effects: {
      ...totalsOf(effect_kinds),
      later: sum(effect_kinds.map(({ later }) => later)),
      sent_last_day: sum(effect_kinds.flatMap(({ sent_per_hour }) => sent_per_hour)),
    },
    effect_kinds,
    reconciles,
    pauses,
    totals: totalsOf(sources),
  };
}

function totalsOf(rows: readonly Pick<SourceStatus, 'pending' | 'parked' | 'oldest_pending_at'>[]) {
  return {
    pending: sum(rows.map(({ pending }) => pending)),
    parked: sum(rows.map(({ parked }) => parked)),
    oldest_pending_at: rows.flatMap(({ oldest_pending_at }) => oldest_pending_at ?? []).sort()[0] ?? null,
  };
}

/** How many in each hour, by the hours since then. Hours without any are absent. */
type Hours = Readonly<Record<string, number>>;

const perHour = (hours: Hours | null) => Array.from({ length: HOURS }, (_, n) => hours?.[HOURS - 1 - n] ?? 0);

/** Not `extract`: it calculates with numeric, which takes several times as long. */
const hoursAgo = (now: Date, time: PgColumn) =>
  sql`floor(date_part('epoch', ${at(now)} - ${time}) / 3600)::int as hours_ago`;

/** Summarizes `recent`, a CTE with the columns `name`, `at`, `hours_ago` and `seconds`. */
const SUMMARIES = sql`
    last_day as (
      select name, max(at) as last_at, percentile_cont(array[0.5, 0.95]) within group (order by seconds) as percentiles
      from recent group by name
    ),
    per_hour as (
      select name, json_object_agg(hours_ago, number) as hours
      from (select name, hours_ago, count(*)::int as number from recent group by 1, 2) as counted group by name
    )`;
const PERCENTILES = sql`json_build_object('p50', percentiles[1], 'p95', percentiles[2])`;

/**
 * One query. It reads the events of the last day (by their time of receipt), and what is pending or parked (each has an
 * index of its own). Only if a source was silent for a day, the events of the days before are read too.
 */
async function loadSources(db: Database, configured: readonly string[], now: Date): Promise<SourceStatus[]> {
  const rows = await run<SourceStatus & { hours: Hours | null }>(
    db,
    sql`
    with recursive ${seenSources},
    sources as (
      select source as name from seen_sources where source is not null
      union select unnest(${sql.param([...configured])}::text[])
    ),
    recent as materialized (
      select ${events.source} as name, ${events.receivedAt} as at, ${hoursAgo(now, events.receivedAt)},
        case when ${events.status} = 'done'
          then date_part('epoch', ${events.finishedAt} - ${events.receivedAt}) end as seconds
      from ${events}
      where ${events.receivedAt} > ${at(now)} - make_interval(hours => ${HOURS}) and ${events.receivedAt} <= ${at(now)}
    ),
    ${SUMMARIES},
    silent as (select source as name from seen_sources where source is not null except select name from last_day),
    last_week as (
      select ${events.source} as name, max(${events.receivedAt}) as last_at, count(*)::int as accepted from ${events}
      where exists (select from silent) and ${events.source} in (select name from silent)
        and ${events.receivedAt} > ${at(now)} - make_interval(days => ${LOOK_BACK_DAYS})
        and ${events.receivedAt} <= ${at(now)} - make_interval(hours => ${HOURS})
      group by 1
    ),
    pending as (
      select ${events.source} as name, count(*)::int as pending, min(${events.receivedAt}) as oldest_pending_at
      from ${events} where ${events.status} = 'pending' group by 1
    ),
    parked as (
      select ${events.source} as name, count(*)::int as parked
      from ${events} where ${events.status} = 'parked' group by 1
    )
    select name as source, coalesce(last_day.last_at, last_week.last_at) as last_accepted_at, hours,
      case when last_day.last_at is null then coalesce(accepted, 0) end as accepted_last_week,
      exists (select from ${alerts} where ${alerts.condition} = 'silent' and ${alerts.source} = sources.name)
        as unusually_silent,
      coalesce(pending, 0) as pending, coalesce(parked, 0) as parked, oldest_pending_at, ${PERCENTILES} as seconds_to_done
    from sources left join last_day using (name) left join last_week using (name) left join per_hour using (name)
      left join pending using (name) left join parked using (name)
    order by 1`,
  );
  return rows.map(({ hours, ...row }) => ({
    ...isoTimes(row, 'last_accepted_at', 'oldest_pending_at'),
    accepted_per_hour: perHour(hours),
  }));
}

/** Whether a pending effect may be sent now. An effect with a `sendAt` in the future may not. */
const isDue = (now: Date) => sql`coalesce(${effects.sendAt} <= ${at(now)}, true)`;

/**
 * One query. It reads the effects that were sent in the last day, and what is pending or parked: each has an index. Their
 * events are read for two days only, by the index of received_at, because a look at all of them would take too long.
 */
async function loadEffectKinds(db: Database, now: Date): Promise<EffectKindStatus[]> {
  const rows = await run<EffectKindStatus & { hours: Hours | null }>(
    db,
    sql`
    with recent as materialized (
      select ${effects.kind} as name, ${effects.sentAt} as at, ${hoursAgo(now, effects.sentAt)},
        date_part('epoch', ${effects.sentAt} - ${sendableSince}) as seconds
      from ${effects} left join ${events} on ${itsEvent} and ${events.receivedAt} > ${at(now)} - make_interval(days => 2)
      where ${effects.sentAt} > ${at(now)} - make_interval(hours => ${HOURS}) and ${effects.sentAt} <= ${at(now)}
    ),
    ${SUMMARIES},
    pending as (
      select ${effects.kind} as name, count(*) filter (where ${isDue(now)})::int as pending,
        count(*) filter (where not ${isDue(now)})::int as later,
        min(${sendableSince}) filter (where ${isDue(now)}) as oldest_pending_at
      from ${effects} join ${events} on ${itsEvent} where ${effects.status} = 'pending' group by 1
    ),
    parked as (
      select ${effects.kind} as name, count(*)::int as parked
      from ${effects} where ${effects.status} = 'parked' group by 1
    )
    select name as kind, last_at as last_sent_at, hours, coalesce(pending, 0) as pending, coalesce(later, 0) as later,
      coalesce(parked, 0) as parked, oldest_pending_at, ${PERCENTILES} as seconds_to_sent
    from last_day full join pending using (name) full join parked using (name) left join per_hour using (name)
    order by 1`,
  );
  return rows.map(({ hours, ...row }) => ({
    ...isoTimes(row, 'last_sent_at', 'oldest_pending_at'),
    sent_per_hour: perHour(hours),
  }));
}

/** Those of these sources that the consumer has begun to reconcile. */
export async function loadReconciles(db: Database, configured: readonly string[]): Promise<ReconcileStatus[]> {
  const rows = await run<ReconcileStatus>(
    db,
    sql`
    select ${reconciles.source} as source, ${reconciles.since} as complete_until, ${reconciles.askedAt} as asked_at,
           ${reconciles.listed} as listed, ${reconciles.missing} as missing, ${reconciles.found} as found,
           ${reconciles.foundSince} as found_since, ${reconciles.foundAt} as found_at, ${reconciles.problem} as problem,
           ${reconciles.problemSince} as problem_since, ${reconciles.lastError} as last_error,
           ${reconciles.notBefore} as not_before
    from ${reconciles} where ${reconciles.source} = any(${sql.param([...configured])}::text[]) order by 1`,
  );
  const times = ['complete_until', 'asked_at', 'found_since', 'found_at', 'problem_since', 'not_before'] as const;
  return rows.map((row) => isoTimes(row, ...times));
}

/** What is paused: of all kinds, or of one. */
export async function loadPauses(db: Database, kind?: string): Promise<PauseStatus[]> {
  const rows = await run<PauseStatus>(
    db,
    sql`
    select ${pauses.kind} as kind, ${pauses.host} as host, ${pauses.pausedAt} as paused_at, ${pauses.pausedBy} as paused_by,
           ${pauses.lastError} as last_error, ${HELD}::int as waiting,
           case when ${pauses.pausedBy} is null then ${pauses.probeAt} end as next_try_at
    from ${pauses} where ${pauses.pausedAt} is not null and ${kind === undefined ? sql`true` : sql`${pauses.kind} = ${kind}`}
    order by 1, 2`,
  );
  return rows.map((row) => isoTimes(row, 'paused_at', 'next_try_at'));
}

/** One number of the metrics. `label` is what its name says: a status, or the number of a bucket. */
export interface Measurement {
  readonly name:
    | 'pending'
    | 'parked'
    | 'oldest_pending_at'
    | 'seconds_bucket'
    | 'seconds_sum'
    | 'effects'
    | 'oldest_pending_effect_at'
    | 'reconciled_until'
    | 'found_missing'
    | 'paused';
  /** Of `paused`: the kind, and the label is the host. */
  readonly source: string | null;
  readonly label: string | null;
  readonly value: number;
}

/** Upper bounds of the buckets, in seconds: a queue's second, a minute, the waits of a backlog, a day. */
export const BUCKETS = [0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 3600, 86_400] as const;

/** Everything that /ops/metrics reads from Postgres, in one query. Times are in seconds since 1970. */
export async function loadMetrics(db: Database, now: Date): Promise<Measurement[]> {
  const lastDay = sql`${at(now)} - interval '1 day'`;
  const epoch = (time: unknown) => sql`date_part('epoch', ${time})`;
  return run<Measurement>(
    db,
    sql`
    with pending as (
      select ${events.source} as source, count(*)::float as number, ${epoch(sql`min(${events.receivedAt})`)} as oldest
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
      select count(*) filter (where ${isDue(now)}) as number, count(*) filter (where not ${isDue(now)}) as later,
        ${epoch(sql`min(${sendableSince}) filter (where ${isDue(now)})`)} as oldest
      from ${effects} join ${events} on ${itsEvent}
      where ${effects.status} = 'pending'
    )
    select 'pending' as name, source, null as label, number as value from pending
    union all select 'oldest_pending_at', source, null, oldest from pending
    union all select 'parked', ${events.source}, null, count(*) from ${events} where ${events.status} = 'parked' group by 2
    union all select 'seconds_bucket', source, bucket::text, count(*) from done group by 2, 3
    union all select 'seconds_sum', source, null, sum(seconds) from done group by 2
    union all select 'effects', null, 'pending', number from pending_effects
    union all select 'effects', null, 'later', later from pending_effects where later > 0
    union all select 'oldest_pending_effect_at', null, null, oldest from pending_effects where oldest is not null
    union all select 'effects', null, 'parked', count(*) from ${effects} where ${effects.status} = 'parked'
    union all select 'effects', null, 'sent', count(*) from ${effects} where ${effects.sentAt} > ${lastDay}
    union all select 'reconciled_until', ${reconciles.source}, null, ${epoch(reconciles.since)} from ${reconciles}
    union all select 'found_missing', ${reconciles.source}, null,
      case when ${reconciles.foundAt} > ${lastDay} then ${reconciles.found} else 0 end from ${reconciles}
    union all select 'paused', ${pauses.kind}, ${pauses.host}, ${HELD} from ${pauses} where ${pauses.pausedAt} is not null`,
  );
}
