import { sql as statement } from 'drizzle-orm';
import pg from 'pg';
import { beforeEach, expect, it, vi } from 'vitest';
import { claim } from '../../../src/db/claim.ts';
import { type Completion, complete } from '../../../src/db/complete.ts';
import { DatabaseError, isCompletedBefore } from '../../../src/db/errors.ts';
import { parkEvents, recordFailures } from '../../../src/db/fail.ts';
import { type Query, queryOf } from '../../../src/db/statement.ts';
import { claimable } from '../claimable.ts';
import { useDatabase } from '../database.ts';
import { WAIT } from '../running.ts';

const database = useDatabase();
const { sql } = database;

const NOW = new Date('2026-03-01T12:00:00Z');

const increment = () =>
  database.readOnly.execute(statement`
    insert into fixture.balances (customer, balance) values ('c', 1)
    on conflict (customer) do update set balance = balances.balance + 1`);

const completion = (eventId: string, changes = [increment()]): Completion => ({
  source: 'test',
  eventId,
  status: 'done',
  summary: '1 change',
  statements: changes.map((change) => queryOf(change) as Query),
  effects: [],
});

const claimAll = (...ids: string[]) =>
  claim(
    database.consumer,
    'test',
    ids.map((id) => claimable(id)),
    {},
    NOW,
  );
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
const balance = async () => (await sql<{ balance: string }>('select balance from fixture.balances'))[0]?.balance;

beforeEach(() => sql('truncate webhook_events, fixture.balances cascade'));

it('complete commits a hundred events and their changes in one request', async () => {
  const ids = Array.from({ length: 100 }, (_, n) => `evt_${n}`);
  await claimAll(...ids);
  let requests = 0;
  database.stack.neon.fault = () => {
    requests++;
    return undefined;
  };
  await complete(
    database.consumer,
    ids.map((id) => completion(id)),
    NOW,
  );
  database.stack.neon.fault = undefined;
  expect(requests).toBe(1);
  expect(await balance()).toBe('100');
});

it('exactly one of twenty concurrent runs of an event commits', async () => {
  await claimAll('a');
  const runs = await Promise.all(
    Array.from({ length: 20 }, () => failureOf(complete(database.consumer, [completion('a')], NOW))),
  );
  expect(runs.filter((error) => error === undefined)).toHaveLength(1);
  expect(runs.filter(isCompletedBefore)).toHaveLength(19);
  expect(await balance()).toBe('1');
});

it('a whole group is rolled back if one of its events is already done', async () => {
  await claimAll('a', 'b');
  await complete(database.consumer, [completion('a')], NOW);
  const error = await failureOf(complete(database.consumer, [completion('b'), completion('a')], NOW));
  expect(isCompletedBefore(error)).toBe(true);
  expect(await sql('select event_id, status from webhook_events order by 1')).toEqual([
    { event_id: 'a', status: 'done' },
    { event_id: 'b', status: 'pending' },
  ]);
  expect(await balance()).toBe('1');
});

it('a completion is rolled back if a change fails, and the error is not a duplicate', async () => {
  await claimAll('a');
  const broken = database.readOnly.execute(
    statement`insert into fixture.balances (customer, balance) values ('c', null)`,
  );
  const error = await failureOf(complete(database.consumer, [completion('a', [increment(), broken])], NOW));
  expect(error).toBeInstanceOf(DatabaseError);
  expect(isCompletedBefore(error)).toBe(false);
  expect(await sql('select status, completions from webhook_events')).toEqual([{ status: 'pending', completions: 0 }]);
  expect(await balance()).toBeUndefined();
});

it('a violation of an app’s own constraint called completed_at_most_once is not a duplicate', async () => {
  await sql(`create table if not exists fixture.guarded (n int constraint completed_at_most_once check (n <= 1))`);
  await sql(`grant insert on fixture.guarded to claimcheck_consumer`);
  await claimAll('a');
  const breaks = database.readOnly.execute(statement`insert into fixture.guarded (n) values (2)`);
  const error = await failureOf(complete(database.consumer, [completion('a', [breaks])], NOW));
  expect(error).toMatchObject({ constraint: 'completed_at_most_once', table: 'guarded' });
  expect(isCompletedBefore(error)).toBe(false);
});

it('an event that was parked or discarded meanwhile can not be completed', async () => {
  await claimAll('a', 'b');
  await parkEvents(database.consumer, [{ source: 'test', eventId: 'a' }], 'reason', NOW);
  await sql(`update webhook_events set status = 'ignored' where event_id = 'b'`);
  for (const id of ['a', 'b']) {
    expect(isCompletedBefore(await failureOf(complete(database.consumer, [completion(id)], NOW)))).toBe(true);
  }
  expect(await balance()).toBeUndefined();
});

it('groups that share events in opposite orders do not deadlock', async () => {
  const ids = Array.from({ length: 20 }, (_, n) => `evt_${n}`);
  await claimAll(...ids);
  // With so many other rows, Postgres looks up the rows of a group one by one, in the group's order, not in the table's.
  await sql(`insert into webhook_events (source, event_id, received_at, due_at)
    select 'other', n::text, now(), now() from generate_series(1, 20000) n`);
  await sql('analyze webhook_events');
  // Holds a row in the middle until both groups wait: each has locked the rows that it takes before that one.
  const other = new pg.Client(database.stack.databaseUrl);
  await other.connect();
  await other.query(`begin; select from webhook_events where event_id = 'evt_10' for update`);
  const groups = [ids, ids.toReversed()].map((order) => order.map((id) => completion(id, [])));
  const finished = Promise.all(groups.map((group) => failureOf(complete(database.consumer, group, NOW))));
  await vi.waitFor(async () => {
    expect(await sql('select from pg_stat_activity where wait_event_type = $$Lock$$')).toHaveLength(2);
  }, WAIT);
  await other.end();
  const errors = await finished;
  expect(errors.filter((error) => error === undefined)).toHaveLength(1);
  expect(errors.filter(isCompletedBefore)).toHaveLength(1);
});

it('recordFailures counts an attempt and keeps the error, and does not change finished events', async () => {
  await claimAll('a', 'b', 'c');
  await complete(database.consumer, [completion('c')], NOW);
  const notBefore = new Date(NOW.getTime() + 60_000);
  const dueAt = new Date(NOW.getTime() + 11 * 60_000);
  const failure = { source: 'test', error: 'Error: no', notBefore };
  await recordFailures(
    database.consumer,
    [
      { ...failure, eventId: 'a', parked: false },
      { ...failure, eventId: 'b', parked: true },
      { ...failure, eventId: 'c', parked: true },
    ],
    NOW,
  );
  expect(await sql('select event_id, status, attempts, last_error, due_at from webhook_events order by 1')).toEqual([
    { event_id: 'a', status: 'pending', attempts: 1, last_error: 'Error: no', due_at: dueAt },
    { event_id: 'b', status: 'parked', attempts: 1, last_error: 'Error: no', due_at: dueAt },
    expect.objectContaining({ event_id: 'c', status: 'done', attempts: 1, last_error: null }),
  ]);
});
