import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import { QUEUE_GAVE_UP, SUSPECTED_REPLAY } from './parked-reasons.ts';
import { webhookAlerts as alerts, webhookEffects as effects, webhookEvents as events } from './schema.ts';
import { silentSources } from './silence.ts';

export interface AlertKey {
  readonly condition: (typeof alerts.$inferSelect)['condition'];
  readonly source: string;
  readonly error: string;
}

export interface Alert extends AlertKey {
  readonly state: 'begun' | 'over';
  readonly events: number;
  readonly effects: number;
  /** When the cron first saw the condition. */
  readonly since: Date;
  /** Of `pending`: since when the oldest waits. Of `silent`: the last hour with an event. */
  readonly oldest: Date | null;
}

const alertColumn = columnNames(alerts);

interface Row extends Omit<Alert, 'since' | 'oldest'>, Record<string, unknown> {
  readonly since: string;
  readonly oldest: string | null;
}

/**
 * Finds what an operator should be alerted about, and keeps it in `webhook_alerts`. Returns what the alert endpoint has
 * not accepted yet, and what it has accepted and is over now. One statement, so that a tick without news costs one query.
 *
 * A pending event is alerted about at the second tick that sees it: an operator who retries old events would otherwise
 * be alerted about them at once.
 */
export async function takeAlerts(db: Database, now: Date, pendingMinutes: number): Promise<Alert[]> {
  const at = sql`${now.toISOString()}::timestamptz`;
  const latest = sql`${new Date(now.getTime() - pendingMinutes * 60_000).toISOString()}::timestamptz`;
  const rows = await run<Row>(
    db,
    sql`
    with ${silentSources(at)},
    unfinished as (
      select ${events.source} as source, ${events.status} as status, ${events.lastError} as last_error,
             1 as events, 0 as effects, ${events.receivedAt} as waiting_since
      from ${events}
      where ${events.status} = 'parked' or (${events.status} = 'pending' and ${events.receivedAt} < ${latest})
      union all
      select ${effects.source}, ${effects.status}, ${effects.lastError}, 0, 1, ${events.finishedAt}
      from ${effects} join ${events} on (${events.source}, ${events.eventId}) = (${effects.source}, ${effects.eventId})
      where ${effects.status} = 'parked' or (${effects.status} = 'pending' and ${events.finishedAt} < ${latest})
    ),
    found as (
      select source, ${conditionOf} as condition, ${errorOf} as error,
             sum(events)::int as events, sum(effects)::int as effects, min(waiting_since) as oldest
      from unfinished group by 1, 2, 3
      union all
      select source, 'silent', '', 0, 0, last_hour from silent
    ),
    added as (
      insert into ${alerts} (${alertColumn.condition}, ${alertColumn.source}, ${alertColumn.error}, ${alertColumn.since})
      select condition, source, error, ${at} from found
      on conflict do nothing
    ),
    -- Over before anybody was alerted: there is nothing to say.
    forgotten as (
      delete from ${alerts} where ${alerts.sentAt} is null and ${isNotFound}
    )
    select found.condition, found.source, found.error, 'begun' as state, found.events, found.effects,
           coalesce(${alerts.since}, ${at}) as since, found.oldest
    from found left join ${alerts} on ${isSame}
    where ${alerts.sentAt} is null and (found.condition <> 'pending' or ${alerts.since} is not null)
    union all
    select ${alerts.condition}, ${alerts.source}, ${alerts.error}, 'over', 0, 0, ${alerts.since}, null
    from ${alerts} where ${alerts.sentAt} is not null and ${isNotFound}
    order by state, source, condition, error`,
  );
  return rows.map(({ since, oldest, ...row }) => ({
    ...row,
    since: new Date(since),
    oldest: oldest === null ? null : new Date(oldest),
  }));
}

const conditionOf = sql`case
  when status = 'pending' then 'pending'
  when last_error like ${`${QUEUE_GAVE_UP}%`} then 'dead_letter'
  else 'parked' end`;

const errorClass = sql`split_part(last_error, ':', 1)`;

/** Only the class: the message of an error may hold personal data. Nobody chooses a class of more than 60 letters. */
const errorOf = sql`case
  when status = 'pending' or last_error like ${`${QUEUE_GAVE_UP}%`} then ''
  when last_error like ${`${SUSPECTED_REPLAY}%`} then ${SUSPECTED_REPLAY}
  when ${errorClass} ~ '^([A-Za-z]*Error|RetryLater)$' then left(${errorClass}, 60)
  else 'another error' end`;

const isSame = sql`(${alerts.condition}, ${alerts.source}, ${alerts.error}) = (found.condition, found.source, found.error)`;
const isNotFound = sql`not exists (select from found where ${isSame})`;

/** Notes what the alert endpoint has accepted. What is over has no row any more. */
export async function recordSent(db: Database, sent: readonly Alert[], now: Date): Promise<void> {
  const keys = (state: Alert['state']): SQL => {
    const column = (read: (alert: Alert) => string) => sql.param(sent.filter((one) => one.state === state).map(read));
    return sql`(${alerts.condition}, ${alerts.source}, ${alerts.error}) in (
      select * from unnest(${column(({ condition }) => condition)}::text[], ${column(({ source }) => source)}::text[],
                           ${column(({ error }) => error)}::text[]))`;
  };
  await run(
    db,
    sql`
    with over as (delete from ${alerts} where ${keys('over')})
    update ${alerts} set ${alertColumn.sentAt} = ${now.toISOString()}::timestamptz where ${keys('begun')}`,
  );
}
