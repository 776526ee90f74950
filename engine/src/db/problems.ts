// Groups failures by their reason, for the top of the overview.
import { sql } from 'drizzle-orm';
import * as v from 'valibot';
import { type Database, run } from './client.ts';
import { kindOfError } from './filter.ts';
import { WAITING } from './order.ts';
import { effects, events, FAILURES, itsEvent, type WorkTable } from './schema.ts';
import { isoTimes } from './sql.ts';
import { Count, TimeOrNull } from './views.ts';

/** Events or effects that fail for the same reason. They are parked, or pending if they will be retried. */
export const Problem = v.strictObject({
  what: v.picklist(['event', 'effect']),
  status: v.picklist(['parked', 'pending']),
  count: Count,
  source: v.string(),
  type: v.nullable(v.string()),
  kinds: v.pipe(v.array(v.string()), v.description('Of effects')),
  failure: v.nullable(v.picklist(FAILURES)),
  error: v.pipe(v.nullable(v.string()), v.description('The newest. Ids and long numbers differ in the others')),
  errors: v.pipe(Count, v.description('How many different errors these are')),
  position: v.nullable(v.string()),
  waiting: v.pipe(Count, v.description('Events with an order key that wait for one of these')),
  event_id: v.pipe(v.string(), v.description('Of the newest')),
  since: v.pipe(
    TimeOrNull,
    v.description('When the first of these events, or of the events of these effects, was received'),
  ),
  latest: v.pipe(
    TimeOrNull,
    v.description(
      'Of parked events: when the last one was parked. Of pending events: received. Of effects: their event was done',
    ),
  ),
  next_attempt_at: v.pipe(TimeOrNull, v.description('Of what is pending: when the first of them is tried again')),
});
export type Problem = v.InferOutput<typeof Problem>;

/** More problems than anybody reads. */
export const MAX_PROBLEMS = 50;

/**
 * Loads the groups. Postgres has indexes of parked and pending rows. Equal errors are grouped first, because it takes
 * longer to find errors that differ only in ids.
 */
export async function loadProblems(db: Database): Promise<Problem[]> {
  const times = sql`${events.receivedAt} as received_at, coalesce(${events.finishedAt}, ${events.receivedAt}) as at`;
  const next = (table: WorkTable) => sql`
        case when ${table.status} = 'pending' then coalesce(${table.notBefore}, ${table.dueAt}) end`;
  const failing = (status: string) => sql`
      select 'event' as what, ${events.status} as status, ${events.source} as source, ${events.type} as type, null as kind,
        ${events.failure} as failure, ${events.lastError} as error, ${events.position} as position,
        ${events.eventId} as event_id, ${times}, ${next(events)} as next, ${WAITING} as waiting
      from ${events}
      where ${events.status} = ${sql.raw(status)} and (${events.status} = 'parked' or ${events.attempts} > 0)
      union all
      select 'effect', ${effects.status}, ${effects.source}, ${events.type}, ${effects.kind}, ${effects.failure},
        ${effects.lastError}, ${effects.position}, ${effects.eventId}, ${times}, ${next(effects)}, 0
      from ${effects} join ${events} on ${itsEvent}
      where ${effects.status} = ${sql.raw(status)} and (${effects.status} = 'parked' or ${effects.attempts} > 0)`;
  const rows = await run<Problem>(
    db,
    sql`
    with failing as (${failing("'parked'")} union all ${failing("'pending'")}),
    same_error as (
      select what, status, source, type, kind, failure, error, count(*)::int as count, sum(waiting) as waiting, min(received_at) as since, max(at) as latest,
        min(next) as next_attempt_at,
        (array_agg(event_id order by at desc))[1] as event_id, (array_agg(position order by at desc))[1] as position
      from failing group by 1, 2, 3, 4, 5, 6, 7
    )
    select what, status, source, type, coalesce(array_to_json(array_remove(array_agg(distinct kind), null)), '[]') as kinds, failure,
      sum(count)::int as count, sum(waiting)::int as waiting, count(distinct error)::int as errors, min(since) as since, max(latest) as latest,
      min(next_attempt_at) as next_attempt_at,
      (array_agg(error order by latest desc))[1] as error, (array_agg(position order by latest desc))[1] as position,
      (array_agg(event_id order by latest desc))[1] as event_id
    from same_error group by what, status, source, type, failure, ${kindOfError(sql`error`)}
    order by status, sum(count) desc, max(latest) desc limit ${MAX_PROBLEMS}`,
  );
  return rows.map((row) => isoTimes(row, 'since', 'latest', 'next_attempt_at'));
}
