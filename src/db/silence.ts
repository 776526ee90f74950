import { type SQL, sql } from 'drizzle-orm';
import { columnNames } from './columns.ts';
import { webhookEvents as events, webhookHours as hours } from './schema.ts';

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
 * `webhook_hours`: the events of two weeks would be too many to read every 15 minutes. The window ends with the last
 * event of the source itself, so that a source which stays silent stays known.
 */
export function silentSources(at: SQL): SQL {
  return sql`
    new_hours as (
      select distinct ${events.source} as source, date_trunc('hour', ${events.receivedAt}, 'UTC') as hour
      from ${events}
      where ${events.receivedAt} >= (
        select greatest(${at} - ${LOOK_BACK}::interval, max(${hours.hour})) from ${hours})
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
        and ${at} - last_hour > greatest(${FACTOR}::int * max(gap), ${AT_LEAST}::interval)
    )`;
}
