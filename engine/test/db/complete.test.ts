import { sql as statement } from 'drizzle-orm';
import { beforeEach, expect, it } from 'vitest';
import { claim } from '../../src/db/claim.ts';
import { run } from '../../src/db/client.ts';
import { type EffectResult, loadEffects, parkEffects, recordEffectResults } from '../../src/db/effects.ts';
import { DatabaseError, isCompletedBefore } from '../../src/db/errors.ts';
import { type Completion, complete, parkEvents, recordFailures } from '../../src/db/events.ts';
import type { Query } from '../../src/db/sql.ts';
import { queryOf } from '../../src/db/user-statement.ts';
import { useDatabase } from '../database.ts';
import { claimRequest } from '../new-event.ts';

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

const claimAll = (...ids: string[]) => claim(database.consumer, claimRequest(ids, { receivedAt: NOW }));
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );
const balance = async () => (await sql<{ balance: string }>('select balance from fixture.balances'))[0]?.balance;

beforeEach(() => sql('delete from webhooks.events; delete from fixture.balances'));

it('no Worker can make room for a second completion by a number below zero', async () => {
  await claimAll('a');
  for (const worker of ['consumer', 'ops'] as const) {
    const lowered = run(database[worker], statement`update webhooks.events set completions = -1`);
    expect(await errorOf(lowered)).toMatchObject({ code: '23514', constraint: 'completed_at_most_once' });
  }
});

it('a whole group is rolled back if one of its events is already done', async () => {
  await claimAll('a', 'b');
  await complete(database.consumer, [completion('a')], NOW);
  const error = await errorOf(complete(database.consumer, [completion('b'), completion('a')], NOW));
  expect(isCompletedBefore(error)).toBe(true);
  expect(await sql('select event_id, status from webhooks.events order by 1')).toEqual([
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
  const error = await errorOf(complete(database.consumer, [completion('a', [increment(), broken])], NOW));
  expect(error).toBeInstanceOf(DatabaseError);
  expect(isCompletedBefore(error)).toBe(false);
  expect(await sql('select status, completions from webhooks.events')).toEqual([{ status: 'pending', completions: 0 }]);
  expect(await balance()).toBeUndefined();
});

it('a violation of an app’s own constraint called completed_at_most_once is not a duplicate', async () => {
  await sql(`create table if not exists fixture.events (n int constraint completed_at_most_once check (n <= 1))`);
  await sql(`grant insert on fixture.events to ${database.role('consumer')}`);
  await claimAll('a');
  const breaks = database.readOnly.execute(statement`insert into fixture.events (n) values (2)`);
  const error = await errorOf(complete(database.consumer, [completion('a', [breaks])], NOW));
  expect(error).toMatchObject({ constraint: 'completed_at_most_once', table: 'fixture.events' });
  expect(isCompletedBefore(error)).toBe(false);
});

it('an event that was parked or discarded meanwhile cannot be completed', async () => {
  await claimAll('a', 'b');
  await parkEvents(database.consumer, [{ source: 'test', eventId: 'a' }], { failure: 'poison', error: 'reason' }, NOW);
  await sql(`update webhooks.events set status = 'ignored' where event_id = 'b'`);
  for (const id of ['a', 'b']) {
    expect(isCompletedBefore(await errorOf(complete(database.consumer, [completion(id)], NOW)))).toBe(true);
  }
  expect(await balance()).toBeUndefined();
});

it('nothing of a group is committed if the row of one of its events is gone, and the error is not a failure', async () => {
  await claimAll('a', 'b');
  await sql(`delete from webhooks.events where event_id = 'a'`);
  for (const group of [['a'], ['b', 'a']]) {
    const completions = group.map((id) => completion(id));
    expect(isCompletedBefore(await errorOf(complete(database.consumer, completions, NOW)))).toBe(true);
  }
  expect(await sql('select event_id, status from webhooks.events')).toEqual([{ event_id: 'b', status: 'pending' }]);
  expect(await balance()).toBeUndefined();
});

it('a text of a sender that looks like our own error, and that a change casts to a number, is a failure', async () => {
  await claimAll('a');
  const text = 'pg_lsn: "claimcheck: events completed: 0';
  const cast = database.readOnly.execute(statement`insert into fixture.balances values ('c', ${text}::text::int)`);
  const error = await errorOf(complete(database.consumer, [completion('a', [cast])], NOW));
  expect(error).toMatchObject({ code: '22P02' });
  expect(isCompletedBefore(error)).toBe(false);
});

it('groups that share events in opposite orders do not deadlock', async () => {
  const ids = Array.from({ length: 20 }, (_, n) => `evt_${n}`);
  await claimAll(...ids);
  // With so many other rows, Postgres looks up the rows of a group one by one, in the group's order, not in the table's.
  await sql(`insert into webhooks.events (source, event_id, received_at, due_at)
    select 'other', n::text, now(), now() from generate_series(1, 20000) n`);
  await sql('analyze webhooks.events');
  // A row in the middle is held until both groups wait: each has locked the rows that it takes before that one.
  const groups = [ids, ids.toReversed()].map((order) => order.map((id) => completion(id, [])));
  const errors = await database.whileLocked(`select from webhooks.events where event_id = 'evt_10' for update`, 2, () =>
    Promise.all(groups.map((group) => errorOf(complete(database.consumer, group, NOW)))),
  );
  expect(errors.filter((error) => error === undefined)).toHaveLength(1);
  expect(errors.filter(isCompletedBefore)).toHaveLength(1);
});

it('a group waits three seconds for a lock, because it can be committed event by event, and one event as long as its role may', async () => {
  await claimAll('a', 'b', 'c');
  const noted = (id: string) =>
    completion(id, [
      database.readOnly.execute(statement`
        insert into fixture.balances values (${id} || ' ' || current_setting('lock_timeout'), 1)`),
    ]);
  await complete(database.consumer, [noted('a'), noted('b')], NOW);
  await complete(database.consumer, [noted('c')], NOW);
  expect(await sql('select customer from fixture.balances order by 1')).toEqual(
    ['a 3s', 'b 3s', 'c 10s'].map((customer) => ({ customer })),
  );
});

it('recordFailures counts an attempt and keeps why it failed, and does not change finished events', async () => {
  await claimAll('a', 'b', 'c');
  await complete(database.consumer, [completion('c')], NOW);
  await sql('update webhooks.events set begun_at = now()');
  const notBefore = new Date(NOW.getTime() + 60_000);
  const dueAt = new Date(NOW.getTime() + 11 * 60_000);
  const failure = { source: 'test', failure: 'handler', error: 'Error: no', failedPaths: null, notBefore } as const;
  await recordFailures(
    database.consumer,
    [
      { ...failure, eventId: 'a', parked: false, position: 'a.ts:1:2', maxAttempts: 5 },
      { ...failure, eventId: 'b', failure: 'schema', failedPaths: ['a.0', 'b'], parked: true },
      { ...failure, eventId: 'c', parked: true },
    ],
    NOW,
  );
  const columns =
    'event_id, status, attempts, failure, last_error, failed_paths, position, max_attempts, due_at, not_before, finished_at, begun_at';
  const kept = { attempts: 1, last_error: 'Error: no', due_at: dueAt, not_before: notBefore, begun_at: null };
  const a = { status: 'pending', failure: 'handler', failed_paths: null, position: 'a.ts:1:2', max_attempts: 5 };
  const b = { status: 'parked', failure: 'schema', failed_paths: ['a.0', 'b'], position: null, max_attempts: null };
  expect(await sql(`select ${columns} from webhooks.events order by 1`)).toEqual([
    { ...kept, ...a, event_id: 'a', finished_at: null },
    { ...kept, ...b, event_id: 'b', finished_at: NOW },
    expect.objectContaining({ event_id: 'c', status: 'done', attempts: 1, failure: null, last_error: null }),
  ]);
});

it('a completion clears why the attempts before it failed, and so does the end of its ticket', async () => {
  await claimAll('a', 'b');
  const failed = { failure: 'schema', error: 'PermanentError: no', failedPaths: ['x'], parked: false } as const;
  const attempt = { source: 'test', ...failed, position: 'a.ts:1:2', notBefore: NOW };
  const attempts = ['a', 'b'].map((eventId) => ({ ...attempt, eventId }));
  await recordFailures(database.consumer, attempts, NOW);
  await complete(database.consumer, [completion('a')], NOW);
  const givenUp = { failure: 'poison', error: 'given up' } as const;
  await parkEvents(database.consumer, [{ source: 'test', eventId: 'b' }], givenUp, NOW);
  const columns = 'attempts, failure, last_error, failed_paths, position, finished_at';
  const cleared = { failed_paths: null, position: null, finished_at: NOW };
  expect(await sql(`select ${columns} from webhooks.events order by event_id`)).toEqual([
    { attempts: 2, failure: null, last_error: null, ...cleared },
    { attempts: 1, failure: 'poison', last_error: 'given up', ...cleared },
  ]);
});

it('an effect is due ten minutes after its event is done, and after a failure ten minutes after its wait', async () => {
  await claimAll('a');
  const names = ['fails', 'is parked', 'is sent', 'was not sent'];
  const effects = names.map((name) => ({ name, kind: 'post', payload: name === 'is sent' ? { name } : undefined }));
  await complete(database.consumer, [{ ...completion('a', []), effects }], NOW);
  const loaded = await loadEffects(
    database.consumer,
    names.map((name) => ({ source: 'test', eventId: 'a', name })),
    { id: 'run', now: NOW, begun: NOW, limits: [], until: NOW, withAge: false },
  );
  const later = new Date(NOW.getTime() + 60_000);
  const notBefore = new Date(NOW.getTime() + 3_600_000);
  const results = loaded.flatMap((effect): EffectResult[] => {
    const failed = { failure: 'response', error: 'no' } as const;
    if (effect.name === 'fails') return [{ ...effect, ...failed, position: 'a.ts:1:2', status: 'pending', notBefore }];
    if (effect.name === 'is parked') return [{ ...effect, ...failed, status: 'parked', notBefore: null }];
    return effect.name === 'is sent'
      ? [{ ...effect, status: 'sent', failure: null, error: null, notBefore: null }]
      : [];
  });
  await recordEffectResults(database.consumer, results, later);
  const dueAt = new Date(NOW.getTime() + 600_000);
  const never = { status: 'pending', attempts: 0, failure: null, last_error: null, position: null };
  const common = { ...never, payload: 'null', not_before: null, due_at: dueAt, sent_at: null, begun_at: NOW };
  const once = { attempts: 1, begun_at: null };
  const failed = { ...once, failure: 'response', last_error: 'no' };
  const wait = { position: 'a.ts:1:2', not_before: notBefore, due_at: new Date(notBefore.getTime() + 600_000) };
  expect(await sql(`select name, ${Object.keys(common)} from webhooks.effects order by 1`)).toEqual([
    { ...common, ...failed, ...wait, name: 'fails' },
    { ...common, ...failed, name: 'is parked', status: 'parked' },
    { ...common, ...once, name: 'is sent', payload: '{"name":"is sent"}', status: 'sent', sent_at: later },
    { ...common, name: 'was not sent' },
  ]);

  const key = { source: 'test', eventId: 'a', name: 'fails' };
  await parkEffects(database.consumer, [key], { failure: 'poison', error: 'given up' });
  expect(await sql(`select status, failure, position from webhooks.effects where name = 'fails'`)).toEqual([
    { status: 'parked', failure: 'poison', position: null },
  ]);
});
