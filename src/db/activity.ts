import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { webhookEvents as events } from './schema.ts';
import { isoOf } from './status.ts';

/** Something that happened to an event. The names are those of the API. */
export interface ActivityLine {
  readonly at: string;
  readonly source: string;
  readonly event_id: string;
  readonly type: string | null;
  readonly what: 'received' | 'done' | 'ignored' | 'parked' | 'retry';
  readonly error: string | null;
}

/** A pending event that has failed, with its attempts so far. */
export interface FailingEvent {
  readonly source: string;
  readonly eventId: string;
  readonly attempts: number;
}

/** As many as a terminal shows in a few seconds. Lines of one moment stay together, so it may be more. */
export const MAX_LINES = 500;

/** Nothing finds events by the time when they finished. Older events that finish now, after a retry, are not reported. */
const FINISHED_WITHIN = '1 day';

/**
 * What happened after `after`, until `until`. Only the events of the last day are read, and what is parked.
 *
 * The time of a failed attempt is not stored. `failing` has all events that wait for another attempt now, so that the
 * caller can compare them with the last time.
 */
export async function loadActivity(
  db: Database,
  after: Date,
  until: Date,
): Promise<{ readonly lines: ActivityLine[]; readonly failing: (ActivityLine & { attempts: number })[] }> {
  const [from, to] = [sql`${after.toISOString()}::timestamptz`, sql`${until.toISOString()}::timestamptz`];
  const columns = sql`${events.source} as source, ${events.eventId} as event_id, ${events.type} as type`;
  const rows = await run<ActivityLine & { attempts: number } & Record<string, unknown>>(
    db,
    sql`
    (
      select * from (
        select ${events.receivedAt} as at, ${columns}, 'received' as what, null as error, 0 as attempts from ${events}
        where ${events.receivedAt} > ${from} and ${events.receivedAt} <= ${to}
        union all
        select ${events.finishedAt}, ${columns}, ${events.status}, null, 0 from ${events}
        where ${events.receivedAt} > ${from} - interval '${sql.raw(FINISHED_WITHIN)}' and ${events.status} in ('done', 'ignored')
          and ${events.finishedAt} > ${from} and ${events.finishedAt} <= ${to}
        union all
        select ${events.finishedAt}, ${columns}, 'parked', ${events.lastError}, 0 from ${events}
        where ${events.status} = 'parked' and ${events.finishedAt} > ${from} and ${events.finishedAt} <= ${to}
      ) as happened
      -- Of two lines of one moment, the receipt is the first.
      order by at fetch first ${sql.raw(String(MAX_LINES))} rows with ties
    )
    union all
    (
      select ${events.receivedAt}, ${columns}, 'retry', ${events.lastError}, ${events.attempts} from ${events}
      where ${events.status} = 'pending' and ${events.attempts} > 0
      order by ${events.dueAt} desc limit ${MAX_LINES}
    )`,
  );
  const all = rows.map((row) => ({ ...row, at: isoOf(row.at) ?? '' }));
  const order = ({ at, what }: ActivityLine) => `${at} ${what === 'received' ? 0 : 1}`;
  return {
    lines: all.filter(({ what }) => what !== 'retry').sort((a, b) => (order(a) < order(b) ? -1 : 1)),
    failing: all.filter(({ what }) => what === 'retry'),
  };
}
