import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { FIRST_IN_LINE, WAITING } from './order.ts';
import { HELD, IS_PAUSED } from './pauses.ts';
import { alerts, effects, events, type Failure, hours, itsEvent, pauses, reconciles, sendableSince } from './schema.ts';
import { at, columnNames, rowsOf } from './sql.ts';

export interface Alert {
  readonly condition: (typeof alerts.condition.enumValues)[number];
  readonly source: string;
  /** Of `parked`: why. */
  readonly failure: Failure | null;
  readonly state: 'begun' | 'over';
  readonly events: number;
  readonly effects: number;
  /** Of `parked`: events with an order key that wait for one of these. */
  readonly waiting: number;
  /** When the cron first saw the condition. */
  readonly since: Date;
  /**
   * Of `pending`: since when the oldest waits. Of `silent`: the last hour with an event. Of `missing`: when the oldest was
   * sent. Of `unconfirmed`, `not_asked` and `paused`: since when.
   */
  readonly oldest: Date | null;
  /** Of `paused`, whose `source` is the kind of its effects: why, and when the next call is tried. */
  readonly reason: string | null;
  readonly nextAt: Date | null;
}

const column = columnNames(alerts);

/**
 * Finds what an operator should be alerted about, and keeps it in `webhooks.alerts`. Returns what the alert endpoint has
 * not accepted yet, and what it has accepted and is over now. One statement, so that a tick without news costs one query.
 *
 * A pending event is alerted about at the second tick that sees it: an operator who retries old events would otherwise
 * be alerted about them at once.
 */
export async function takeAlerts(
  db: Database,
  now: Date,
  pendingMinutes: number,
  reconciled: readonly string[] = [],
): Promise<Alert[]> {
  const latest = at(new Date(now.getTime() - pendingMinutes * 60_000));
  const rows = await run<Row>(
    db,
    sql`
    with recursive ${silentSources(at(now))},
    ${FIRST_IN_LINE},
    unfinished as (
      select ${events.source} as source, ${events.status} as status, ${events.failure} as failure,
             1 as events, 0 as effects, case when ${events.status} = 'parked' then ${WAITING} else 0 end as waiting,
             ${events.receivedAt} as waiting_since
      from ${events}
      where ${events.status} = 'parked'
        or (${events.status} = 'pending' and ${events.receivedAt} < ${latest} and ${events.orderKey} is null)
      union all
      -- An event that waits for another one of its order key counts with that one.
      select source, status, null, 1, 0, 0, received_at from first_in_line
      where status = 'pending' and received_at < ${latest}
      union all
      select ${effects.source}, ${effects.status}, ${effects.failure}, 0, 1, 0, ${sendableSince}
      from ${effects} join ${events} on ${itsEvent}
      -- What waits for a pause counts with that.
      where ${effects.status} = 'parked' or (${effects.status} = 'pending' and ${sendableSince} < ${latest} and not ${IS_PAUSED})
    ),
    found as (
      select source, status as condition, case when status = 'parked' then coalesce(failure, '') else '' end as failure,
             sum(events)::int as events, sum(effects)::int as effects, sum(waiting)::int as waiting,
             min(waiting_since) as oldest, null as reason, null::timestamptz as next_at
      from unfinished group by 1, 2, 3
      union all
      select source, 'silent', '', 0, 0, 0, last_hour, null, null from silent
      union all
      ${reconcileProblems(at(now), reconciled)}
      union all
      ${longPauses(at(now))}
    ),
    added as (
      insert into ${alerts} (${column.condition}, ${column.source}, ${column.failure}, ${column.since})
      select condition, source, failure, ${at(now)} from found
      on conflict do nothing
    ),
    -- Over before anybody was alerted: there is nothing to say.
    forgotten as (
      delete from ${alerts} where ${alerts.sentAt} is null and ${isNotFound}
    )
    select found.condition, found.source, found.failure, 'begun' as state, found.events, found.effects, found.waiting,
           coalesce(${alerts.since}, ${at(now)}) as since, found.oldest, found.reason, found.next_at as "nextAt"
    from found left join ${alerts} on ${isSame}
    where ${alerts.sentAt} is null and (found.condition <> 'pending' or ${alerts.since} is not null)
    union all
    select ${alerts.condition}, ${alerts.source}, ${alerts.failure}, 'over', 0, 0, 0, ${alerts.since}, null, null, null
    from ${alerts} where ${alerts.sentAt} is not null and ${isNotFound}
    order by state, source, condition, failure`,
  );
  return rows.map(({ failure, since, oldest, nextAt, ...row }) => ({
    ...row,
    failure: failure === '' ? null : failure,
    since: new Date(since),
    oldest: oldest === null ? null : new Date(oldest),
    nextAt: nextAt === null ? null : new Date(nextAt),
  }));
}

interface Row extends Omit<Alert, 'failure' | 'since' | 'oldest' | 'nextAt'> {
  readonly failure: Failure | '';
  readonly since: string;
  readonly oldest: string | null;
  readonly nextAt: string | null;
}

const isSame = sql`
  (${alerts.condition}, ${alerts.source}, ${alerts.failure}) = (found.condition, found.source, found.failure)`;
const isNotFound = sql`not exists (select from found where ${isSame})`;

/** Notes what the alert endpoint has accepted. What is over has no row any more. */
export async function recordSentAlerts(db: Database, sent: readonly Alert[], now: Date): Promise<void> {
  const keys = (state: Alert['state']): SQL => {
    const those = sent.filter((alert) => alert.state === state);
    return sql`(${alerts.condition}, ${alerts.source}, ${alerts.failure}) in (
      select condition, source, failure from ${rowsOf('sent', those, {
        condition: ['text', ({ condition }) => condition],
        source: ['text', ({ source }) => source],
        failure: ['text', ({ failure }) => failure ?? ''],
      })})`;
  };
  await run(
    db,
    sql`
    with over as (delete from ${alerts} where ${keys('over')})
    update ${alerts} set ${column.sentAt} = ${at(now)} where ${keys('begun')}`,
  );
}

/** What has no row once the app doesn't reconcile the source any more. */
function reconcileProblems(now: SQL, reconciled: readonly string[]): SQL {
  const isReconciled = sql`${reconciles.source} = any(${sql.param([...reconciled])}::text[])`;
  return sql`
      select ${reconciles.source}, 'missing', '', ${reconciles.found}, 0, 0, ${reconciles.foundSince}, null, null from ${reconciles}
      where ${isReconciled} and ${reconciles.foundAt} > ${now} - interval '1 day'
      union all
      select ${reconciles.source}, case ${reconciles.problem} when 'failed' then 'not_asked' else ${reconciles.problem} end,
             '', 0, 0, 0, ${reconciles.problemSince}, null, null
      from ${reconciles}
      where ${isReconciled}
        and (${reconciles.problem} = 'unconfirmed'
          -- A provider's API may be away for an hour: nothing is lost by that.
          or ${reconciles.problem} = 'failed' and ${reconciles.problemSince} < ${now} - interval '1 day')`;
}

/** Most pauses are over before anybody could look. One row for each kind, whose first host says why. */
function longPauses(now: SQL): SQL {
  return sql`
      select ${pauses.kind}, 'paused', '', 0, sum(${HELD})::int, 0, min(${pauses.pausedAt}),
             (array_agg(case when ${pauses.pausedBy} is null then ${pauses.lastError} else 'by an operator' end order by ${pauses.pausedAt}))[1],
             min(case when ${pauses.pausedBy} is null then ${pauses.probeAt} end)
      from ${pauses} where ${pauses.pausedAt} < ${now} - interval '5 minutes' group by ${pauses.kind}`;
}

const hourColumn = columnNames(hours);

/** A source is compared with its own last two weeks: two weekends, and little enough to keep. */
const WINDOW = '14 days';
/** Before it has sent events for a week, nobody knows how it behaves at night and on a weekend. */
const LEARNING = '7 days';
/** How many times its longest gap a source may be silent. Less would alert about every longer weekend. */
const FACTOR = 3;
/** For sources that send all the time: a shorter silence may be a deployment or a maintenance of theirs. */
const AT_LEAST = '6 hours';
/** The first tick, and the first one after a long pause, reads at most this much. Every other reads about an hour. */
const LOOK_BACK = '1 day';

/**
 * The common table expression `silent (source, last_hour)`, and those that it needs: sources that have been silent for
 * longer than FACTOR times their longest gap of WINDOW. Gaps are counted between hours with events, which are kept in
 * `webhooks.hours`: the events of two weeks would be too many to read every 15 minutes. The window ends with the last
 * event of the source itself, so that a source which stays silent stays known.
 */
function silentSources(now: SQL): SQL {
  return sql`
    new_hours as (
      select distinct ${events.source} as source, date_trunc('hour', ${events.receivedAt}, 'UTC') as hour
      from ${events}
      where ${events.receivedAt} >= (
        select greatest(${now} - ${LOOK_BACK}::interval, max(${hours.hour})) from ${hours})
    ),
    added_hours as (
      insert into ${hours} (${hourColumn.source}, ${hourColumn.hour}) select source, hour from new_hours on conflict do nothing
    ),
    known_hours as (
      select ${hours.source} as source, ${hours.hour} as hour from ${hours}
      union
      select source, hour from new_hours
    ),
    gaps as (
      select source, hour, hour - lag(hour) over (partition by source order by hour) as gap,
             max(hour) over (partition by source) as last_hour
      from known_hours
    ),
    old_hours as (
      delete from ${hours} using gaps
      where (${hours.source}, ${hours.hour}) = (gaps.source, gaps.hour) and gaps.hour < gaps.last_hour - ${WINDOW}::interval
    ),
    silent as (
      select source, last_hour from gaps
      where hour >= last_hour - ${WINDOW}::interval
      group by source, last_hour
      having last_hour - min(hour) >= ${LEARNING}::interval
        and ${now} - last_hour > greatest(${FACTOR}::int * max(gap), ${AT_LEAST}::interval)
    )`;
}
