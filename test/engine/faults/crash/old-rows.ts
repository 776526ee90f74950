import type { Sql } from './lanes.ts';
import type { Expected } from './scenarios.ts';
import { START } from './world.ts';

const DAY = 86_400_000;

/** Older than both DEDUPE_DAYS and BODY_DAYS. */
const LONG_AGO = new Date(START - 40 * DAY);

const STATUS = { old_done: 'done', old_parked: 'parked', old_pending: 'pending' } as const;

type Id = keyof typeof STATUS;

const old = (id: Id, expected: Expected, amount: number) => ({
  source: 'stripe' as const,
  id,
  expected,
  charge: { customer: 'old', amount },
});

/** What is in the ledger before a trial begins. The one that is done had its balance long ago. */
export const OLD = {
  events: [old('old_done', 'done', 0), old('old_parked', 'parked', 0), old('old_pending', 'done', 2 ** 20)],
  isOld: (id: string): id is Id => Object.hasOwn(STATUS, id),
  isPending: (id: string) => id === 'old_pending',
  /** The pending one is worked first, and pruned by a later tick. */
  mayBePruned: (id: string) => id === 'old_done' || id === 'old_pending',
};

export async function insertOldRows(sql: Sql): Promise<void> {
  for (const { source, id, charge } of OLD.events) {
    const status = STATUS[id as Id];
    const finishedAt = status === 'pending' ? null : LONG_AGO;
    await sql(
      `insert into webhooks.events (source, event_id, type, received_at, status, due_at, finished_at, completions)
       values ($1, $2, 'charge', $3, $4, $3, $5, $6)`,
      [source, id, LONG_AGO, status, finishedAt, status === 'done' ? 1 : 0],
    );
    await sql(
      'insert into webhooks.bodies (source, event_id, body, headers, received_at) values ($1, $2, $3, $4, $5)',
      [source, id, JSON.stringify({ data: charge }), {}, LONG_AGO],
    );
  }
}
