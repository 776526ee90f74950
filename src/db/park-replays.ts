import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import { DatabaseError } from './errors.ts';
import { type Claimable, INCOMING_ROWS, INSERT_BODIES, param, paramsOfMany, type SharedValues } from './incoming.ts';
import { SUSPECTED_REPLAY } from './parked-reasons.ts';
import { webhookEvents as ledger } from './schema.ts';
import { textOf } from './statement.ts';

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
  shared: SharedValues,
  suspects: readonly Claimable[],
): Promise<Replays> {
  const replays: Replays = { parked: [], dropped: [] };
  let undecided = suspects;
  for (let tries = 0; undecided.length > 0; tries++) {
    if (tries === MAX_TRIES) throw new DatabaseError('a suspected replay could not be claimed', { retryable: true });
    const parked = { ...shared, dueAt: shared.now };
    const params = [...paramsOfMany(parked, undecided), SUSPECTED_REPLAY, HOW_TO_DECIDE];
    const rows = await run<Row>(db, { sql: PARK, params });
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

/** Two more parameters, behind those of every claim. */
const [REASON, ADVICE] = [sql.raw('$10'), sql.raw('$11')];
const LIMIT = sql.raw(String(MAX_REPLAYS));

const HOW_TO_DECIDE =
  'Retry this event if it is real, discard it if it is not. If bodies repeat at this source, set bodiesRepeat';

/**
 * `replay_number` is 0 for the first event of a replay key, and unique for each of its replays. Of the numbers that may
 * still be given, a replay takes a random one, so that concurrent replays rarely meet at the same. Only as many numbers
 * may be given as there is room below MAX_REPLAYS, so that concurrent replays can't exceed it together.
 */
const PARK = textOf(sql`
  with incoming as (${INCOMING_ROWS}),
  known as (
    select id from incoming join ${ledger} on ${ledger.eventId} = id where ${ledger.source} = ${param.source}
  ),
  earlier as (
    select id,
           (array_agg(${ledger.eventId} order by ${ledger.replayNumber}))[1] as first_id,
           array_agg(${ledger.replayNumber}) as numbers,
           count(*) filter (where ${ledger.replayNumber} > 0 and ${ledger.status} = 'parked') as parked
    from incoming join ${ledger} on ${ledger.fingerprint} = incoming.fingerprint
    where ${ledger.source} = ${param.source} and id not in (select id from known)
    group by id
  ),
  suspected as (
    select id, first_id, (
      select number from (
        select number from generate_series(1, ${LIMIT} + cardinality(numbers)) number
        where number <> all (numbers) order by number limit greatest(${LIMIT} - parked, 0)
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
    select ${param.source}, id, type, occurred_at, ${param.now}::timestamptz, ${param.dueAt}::timestamptz,
           ${param.now}::timestamptz, fingerprint, replay_number, 'parked',
           ${REASON} || ': event ' || first_id || ' has the same body or replay key. ' || ${ADVICE}
    from incoming join suspected using (id) where replay_number is not null
    order by id
    on conflict do nothing
    returning ${ledger.eventId} as id
  ),
  kept as (${INSERT_BODIES})
  select id, 'parked' as outcome from claimed
  union all
  select id, 'dropped' from suspected where replay_number is null
  union all
  select id, 'known' from known`).sql;
