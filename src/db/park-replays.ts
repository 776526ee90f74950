import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import { DatabaseError } from './errors.ts';
import { type Claimable, incomingRows, insertBodies } from './incoming.ts';
import { SUSPECTED_REPLAY } from './parked-reasons.ts';
import { webhookEvents as ledger } from './schema.ts';

/**
 * Suspected replays of one replay key that may wait for a person's decision at the same time. Ten are enough for a
 * provider that repeats itself until somebody notices. A flood of one captured delivery fills the table with ten rows.
 */
export const MAX_REPLAYS = 10;

/** A try that leaves an event undecided lost a race for a replay number. At most MAX_REPLAYS others can win one. */
const MAX_TRIES = MAX_REPLAYS + 2;

export interface Replays {
  /** Claimed, and parked until a person decides about it. */
  readonly parked: string[];
  /** Not claimed, because MAX_REPLAYS of the same replay key are parked already. */
  readonly dropped: string[];
}

/** Claims events that have a new id but a known replay key. */
export async function parkReplays(
  db: Database,
  source: string,
  suspects: readonly Claimable[],
  headers: Record<string, string>,
  now: Date,
): Promise<Replays> {
  const replays: Replays = { parked: [], dropped: [] };
  let undecided = suspects;
  for (let tries = 0; undecided.length > 0; tries++) {
    if (tries === MAX_TRIES) throw new DatabaseError('a suspected replay could not be claimed', { retryable: true });
    const rows = await run<Row>(db, parkStatement(source, undecided, headers, now));
    for (const { id, outcome } of rows) if (outcome !== 'known') replays[outcome].push(id);
    const decided = new Set(rows.map(({ id }) => id));
    undecided = undecided.filter(({ eventId }) => !decided.has(eventId));
  }
  return replays;
}

interface Row extends Record<string, unknown> {
  id: string;
  outcome: 'parked' | 'dropped' | 'known';
}

const ledgerColumn = columnNames(ledger);

const HOW_TO_DECIDE =
  'Retry this event if it is real, discard it if it is not. If bodies repeat at this source, set bodiesRepeat';

/**
 * `replay_number` is 0 for the first event of a replay key, and unique for each of its replays. Of the numbers that may
 * still be given, a replay takes a random one, so that concurrent replays rarely meet at the same. Only as many numbers
 * may be given as there is room below MAX_REPLAYS, so that concurrent replays can't exceed it together.
 */
function parkStatement(source: string, events: readonly Claimable[], headers: Record<string, string>, now: Date): SQL {
  const at = sql`${now.toISOString()}::timestamptz`;
  return sql`
    with incoming as (${incomingRows(events)}),
    known as (
      select id from incoming join ${ledger} on ${ledger.eventId} = id where ${ledger.source} = ${source}
    ),
    earlier as (
      select id,
             (array_agg(${ledger.eventId} order by ${ledger.replayNumber}))[1] as first_id,
             array_agg(${ledger.replayNumber}) as numbers,
             count(*) filter (where ${ledger.replayNumber} > 0 and ${ledger.status} = 'parked') as parked
      from incoming join ${ledger} on ${ledger.fingerprint} = incoming.fingerprint
      where ${ledger.source} = ${source} and id not in (select id from known)
      group by id
    ),
    suspected as (
      select id, first_id, (
        select number from (
          select number from generate_series(1, ${MAX_REPLAYS} + cardinality(numbers)) number
          where number <> all (numbers) order by number limit greatest(${MAX_REPLAYS} - parked, 0)
        ) as free order by random() limit 1
      ) as replay_number
      from earlier
    ),
    claimed as (
      insert into ${ledger} (
        ${ledgerColumn.source}, ${ledgerColumn.eventId}, ${ledgerColumn.type}, ${ledgerColumn.occurredAt},
        ${ledgerColumn.receivedAt}, ${ledgerColumn.dueAt}, ${ledgerColumn.finishedAt}, ${ledgerColumn.fingerprint},
        ${ledgerColumn.replayNumber}, ${ledgerColumn.status}, ${ledgerColumn.lastError}
      )
      select ${source}, id, type, occurred_at, ${at}, ${at}, ${at}, fingerprint, replay_number, 'parked',
             ${SUSPECTED_REPLAY} || ': event ' || first_id || ' has the same body or replay key. ' || ${HOW_TO_DECIDE}
      from incoming join suspected using (id) where replay_number is not null
      order by id
      on conflict do nothing
      returning ${ledger.eventId} as id
    ),
    kept as (${insertBodies(source, headers, now)})
    select id, 'parked' as outcome from claimed
    union all
    select id, 'dropped' from suspected where replay_number is null
    union all
    select id, 'known' from known`;
}
