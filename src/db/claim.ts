import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { DatabaseError } from './errors.ts';
import { TICKET_GRACE_MS } from './keys.ts';
import { SUSPECTED_REPLAY } from './parked-reasons.ts';
import { webhookBodies, webhookEvents } from './schema.ts';

export interface Claimable {
  readonly eventId: string;
  readonly type: string | null;
  readonly occurredAt: Date | null;
  readonly fingerprint: string | null;
  readonly body: string;
}

/** The ids of a delivery's events, by what became of them. An id in none of the lists was claimed by another delivery. */
export interface Claims {
  /** Claimed now, and pending: each needs a ticket. */
  readonly claimed: string[];
  /** Claimed now as suspected replays: each is parked until a person decides about it. */
  readonly parked: string[];
  /** Suspected replays that were not claimed, because MAX_REPLAYS of the same replay key are parked already. */
  readonly dropped: string[];
  /** Claimed before, and still pending after their due time: their tickets may be lost. */
  readonly overdue: string[];
}

/**
 * Suspected replays of one replay key that may wait for a person's decision at the same time. Ten are enough for a
 * provider that repeats itself until somebody notices. A flood of one captured delivery fills the table with ten rows.
 */
export const MAX_REPLAYS = 10;

/**
 * Every try that leaves an event undecided lost a race against a row that is now committed: the first event of the
 * replay key, or one of its MAX_REPLAYS replays. One more try sees all of these.
 */
const MAX_TRIES = MAX_REPLAYS + 2;

/**
 * Claims the events of one delivery, bodies included, in one round trip.
 *
 * An event with a new id but a known replay key may be a captured body that somebody sent again, or a real event that
 * repeats the words of an earlier one. It is claimed as parked, so that it neither runs nor gets lost.
 * Only a race of two new ids for one replay key needs a second try: the loser finds the winner's row then.
 */
export async function claim(
  db: Database,
  source: string,
  events: readonly Claimable[],
  headers: Record<string, string>,
  now: Date,
): Promise<Claims> {
  const claims: Claims = { claimed: [], parked: [], dropped: [], overdue: [] };
  let undecided = events;
  for (let tries = 0; undecided.length > 0; tries++) {
    if (tries === MAX_TRIES) throw new DatabaseError('a suspected replay could not be claimed', { retryable: true });
    const rows = await run<Row>(db, claimStatement(source, undecided, headers, now));
    for (const { event_id, outcome } of rows) if (outcome !== 'known') claims[outcome].push(event_id);
    const decided = new Set(rows.map((row) => row.event_id));
    // Without a replay key, only a concurrent delivery of the same id can have been in the way: it holds the event.
    undecided = undecided.filter(({ eventId, fingerprint }) => fingerprint !== null && !decided.has(eventId));
  }
  return claims;
}

interface Row extends Record<string, unknown> {
  event_id: string;
  outcome: keyof Claims | 'known';
}

const HOW_TO_DECIDE =
  'Retry this event if it is real, discard it if it is not. If bodies repeat at this source, set bodiesRepeat';

/**
 * The rows are inserted in the order of their ids, so that two deliveries of the same events can't deadlock.
 * Ids and replay keys are looked up in separate branches: an `or` of the two scans every event of the source.
 * Whether a row is overdue is a column, not a condition: as a condition it invites the planner to use the index of
 * due events, and every duplicate would then read the whole backlog.
 *
 * `replay_number` is 0 for the first event of a replay key, and unique for each of its replays. Of the numbers that may
 * still be given, a replay takes a random one, so that concurrent replays rarely meet at the same. Only as many numbers
 * may be given as there is room below MAX_REPLAYS, so that concurrent replays can't exceed it together.
 */
function claimStatement(source: string, events: readonly Claimable[], headers: Record<string, string>, now: Date): SQL {
  const column = <T>(read: (event: Claimable) => T) => sql.param(events.map(read));
  const at = sql`${now.toISOString()}::timestamptz`;
  const dueAt = sql`${new Date(now.getTime() + TICKET_GRACE_MS).toISOString()}::timestamptz`;
  return sql`
    with incoming as (
      select * from unnest(
        ${column((event) => event.eventId)}::text[],
        ${column((event) => event.type)}::text[],
        ${column((event) => event.occurredAt?.toISOString() ?? null)}::timestamptz[],
        ${column((event) => event.fingerprint)}::text[],
        ${column((event) => event.body)}::text[]
      ) as incoming (event_id, type, occurred_at, fingerprint, body)
    ),
    known as (
      select event_id, status = 'pending' and due_at <= ${at} as overdue
      from ${webhookEvents} join incoming using (event_id)
      where source = ${source}
    ),
    replayed as (
      select incoming.event_id, incoming.fingerprint,
             (array_agg(earlier.event_id order by earlier.replay_number))[1] as first_id,
             array_agg(earlier.replay_number) as numbers,
             count(*) filter (where earlier.replay_number > 0 and earlier.status = 'parked') as parked
      from incoming join ${webhookEvents} earlier using (fingerprint)
      where earlier.source = ${source}
      group by 1, 2
    ),
    suspected as (
      select event_id, fingerprint, first_id, (
        select number from (
          select number from generate_series(1, ${MAX_REPLAYS} + cardinality(numbers)) number
          where number <> all (numbers) order by number limit greatest(${MAX_REPLAYS} - parked, 0)
        ) as free order by random() limit 1
      ) as replay_number
      from replayed
    ),
    claimed as (
      insert into ${webhookEvents} (source, event_id, type, occurred_at, received_at, due_at, fingerprint,
                                    replay_number, status, last_error, finished_at)
      select ${source}, event_id, type, occurred_at, ${at}, ${dueAt}, fingerprint, coalesce(replay_number, 0),
             case when first_id is null then 'pending' else 'parked' end,
             ${SUSPECTED_REPLAY} || ': event ' || first_id || ' has the same body or replay key. ' || ${HOW_TO_DECIDE},
             case when first_id is not null then ${at} end
      from incoming left join suspected using (event_id, fingerprint)
      where first_id is null or replay_number is not null
      order by event_id
      on conflict do nothing
      returning event_id, status
    ),
    kept as (
      insert into ${webhookBodies} (source, event_id, body, headers, received_at)
      select ${source}, event_id, body, ${JSON.stringify(headers)}::jsonb, ${at}
      from incoming join claimed using (event_id)
      on conflict do nothing
    )
    select event_id, case status when 'pending' then 'claimed' else 'parked' end as outcome from claimed
    union all
    select event_id, case when overdue then 'overdue' else 'known' end from known
    union all
    select event_id, 'dropped' from suspected
    where replay_number is null and event_id not in (select event_id from known)`;
}
