import fc from 'fast-check';
import * as v from 'valibot';
import { beforeEach, describe, expect, it } from 'vitest';
import { claim } from '../../src/db/claim.ts';
import type { EventFilter } from '../../src/db/filter.ts';
import { loadStatus, Status } from '../../src/db/status.ts';
import { type Cursor, EventDetails, ListedEvent, listEvents, loadDetails, MAX_OF_TENANT } from '../../src/db/views.ts';
import { useDatabase } from '../database.ts';
import { claimRequest } from '../new-event.ts';
import { RUNS } from '../pure/generators.ts';

const database = useDatabase();
const { sql } = database;

const NOW = new Date('2026-03-10T12:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ago = (ms: number) => new Date(NOW.getTime() - ms);
const receive = (source: string, ids: string[], at: Date) =>
  claim(
    database.receiver,
    claimRequest(ids, { source, headers: { 'content-type': 'application/json' }, receivedAt: at }),
  );

beforeEach(() => sql('delete from webhooks.events'));

describe('loadStatus', () => {
  it('loadStatus has per source what came in, what is stuck and how long events took', async () => {
    await receive('stripe', ['a', 'b'], ago(30 * MINUTE));
    await receive('stripe', ['c', 'f'], ago(23.5 * HOUR));
    await receive('github', ['d', 'e'], ago(30 * HOUR));
    await sql(`update webhooks.events set status = row.status, finished_at = received_at + row.took::interval
      from (values ('a', 'done', '3 s'), ('c', 'done', '1 s'), ('f', 'parked', '1 h'), ('d', 'parked', '1 h'))
        as row (id, status, took) where event_id = id`);
    await sql(
      `insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at, sent_at)
       values ('stripe', 'a', '1', 'mail', '{}', 'sent', $1, $1), ('stripe', 'a', '2', 'mail', '{}', 'pending', $1, null),
              ('stripe', 'c', '1', 'mail', '{}', 'pending', $1, null), ('stripe', 'c', '2', 'sms', '{}', 'parked', $1, null)`,
      [ago(MINUTE)],
    );
    await sql(`insert into webhooks.alerts (condition, source, failure, since)
      values ('silent', 'stripe', '', now()), ('parked', 'github', 'handler', now())`);
    const status = await loadStatus(database.ops, ['stripe', 'unused'], NOW);
    expect(v.parse(Status, status)).toEqual(status);
    const { sources, effects, effect_kinds: kinds, totals } = status;
    const hours = (counts: Record<number, number>) => Array.from({ length: 24 }, (_, n) => counts[n] ?? 0);
    const took = (p50: number | null, p95: number | null) => ({ p50, p95 });
    const time = (ms: number) => ago(ms).toISOString();
    const columns = 'source last_accepted_at accepted_per_hour accepted_last_week unusually_silent'.split(' ');
    const stuck = 'pending parked oldest_pending_at'.split(' ');
    const row = (names: readonly string[], ...values: unknown[]) =>
      Object.fromEntries(names.map((name, n) => [name, values[n]]));
    expect(sources).toEqual(
      [
        ['github', time(30 * HOUR), hours({}), 2, false, 1, 1, time(30 * HOUR), took(null, null)],
        ['stripe', time(30 * MINUTE), hours({ 0: 2, 23: 2 }), null, true, 1, 1, time(30 * MINUTE), took(2, 2.9)],
        ['unused', null, hours({}), 0, false, 0, 0, null, took(null, null)],
      ].map((values) => row([...columns, ...stuck, 'seconds_to_done'], ...values)),
    );
    const first = time(23.5 * HOUR - 1000);
    expect(effects).toEqual({ ...row(stuck, 2, 1, first), later: 0, sent_last_day: 1 });
    expect(totals).toEqual(row(stuck, 2, 2, time(30 * HOUR)));
    const seconds = (30 * MINUTE - 3000 - MINUTE) / 1000;
    expect(kinds).toEqual(
      [
        ['mail', time(MINUTE), hours({ 23: 1 }), 2, 0, first, took(seconds, seconds)],
        ['sms', null, hours({}), 0, 1, null, took(null, null)],
      ].map((values) => ({
        later: 0,
        ...row(['kind', 'last_sent_at', 'sent_per_hour', ...stuck, 'seconds_to_sent'], ...values),
      })),
    );
  });

  it('loadStatus groups what fails by source, type, failure and error, whatever ids are in the error', async () => {
    // The newest events are the retried ones: a retry must not change `since`. The position is that of the newest error,
    // among equal ones and among those that differ in ids.
    await sql(
      `insert into webhooks.events (source, event_id, type, status, attempts, failure, last_error, position, received_at,
         due_at, actions)
       select 'stripe', id, 'test', status, 1, failure, error, 'handle (src/handlers/' || id || '.ts:7)',
         $1::timestamptz + n * interval '1 min', $2, actions::jsonb
       from (values (1, 'a', 'parked', 'handler', 'Error: no order 1234567', null),
         (2, 'b', 'parked', 'handler', 'Error: no order 7654321', null),
         (3, 'c', 'parked', 'handler', 'Error: no customer', $3),
         (4, 'd', 'parked', 'handler', 'Error: no customer', $3),
         (5, 'e', 'parked', 'permanent', 'Error: no customer', null),
         (6, 'f', 'pending', 'handler', 'Error: no order 1234567', null),
         (0, 'mail', 'done', null, null, null),
         (0, 'sms', 'done', null, null, null)) as row (n, id, status, failure, error, actions)`,
      [ago(HOUR), NOW, JSON.stringify([{ at: NOW, who: 'oncall', action: 'retry' }])],
    );
    await sql(`update webhooks.events set finished_at = $1 where status = 'done'`, [NOW]);
    await sql(
      `insert into webhooks.effects (source, event_id, name, kind, payload, status, attempts, failure, last_error, due_at)
       select 'stripe', kind, status, kind, '{}', status, 1, 'response', 'HTTP 410', $1
       from unnest(array['mail', 'sms']) kind, unnest(array['parked', 'pending']) status`,
      [NOW],
    );
    const { problems } = await loadStatus(database.ops, [], NOW);
    const minute = (n: number) => ago(HOUR - n * MINUTE).toISOString();
    expect(
      problems.map(({ what, status, count, errors, position, since }) => [
        what,
        status,
        count,
        errors,
        position?.at(-7),
        since,
      ]),
    ).toEqual([
      ['effect', 'parked', 2, 1, undefined, minute(0)],
      ['event', 'parked', 2, 1, 'd', minute(3)],
      ['event', 'parked', 2, 2, 'b', minute(1)],
      ['event', 'parked', 1, 1, 'e', minute(5)],
      ['effect', 'pending', 2, 1, undefined, minute(0)],
      ['event', 'pending', 1, 1, 'f', minute(6)],
    ]);
    expect(problems[0]).toMatchObject({ kinds: ['mail', 'sms'], failure: 'response' });
    // Each group is found again by its own fields.
    for (const { what, status, count, source, failure, error } of problems) {
      const filter = { source, failure: failure ?? undefined, error: error ?? undefined };
      const found = await listEvents(
        database.ops,
        what === 'event' ? { ...filter, status } : { ...filter, effect_status: status },
        { after: undefined, limit: 9 },
      );
      expect(found.events).toHaveLength(count);
    }
  });

  it('loadStatus works on an empty database', async () => {
    const { sources, totals } = await loadStatus(database.ops, [], NOW);
    expect([sources, totals]).toEqual([[], { pending: 0, parked: 0, oldest_pending_at: null }]);
  });
});

describe('listEvents', () => {
  const readAll = async (filter: EventFilter, limit: number, looks = [2000, 100_000]) => {
    const found: ListedEvent[] = [];
    let after: Cursor | undefined;
    do {
      const page = await listEvents(database.ops, filter, { after, limit, looks });
      expect(page.events.length).toBeLessThanOrEqual(limit);
      for (const event of page.events) found.push(v.parse(ListedEvent, event));
      after = page.next;
    } while (after);
    return found;
  };

  it('listEvents pages through every event exactly once, newest first, whatever the filter and the ages are', async () => {
    // In minutes; one is of a Worker whose clock is ahead. Few, because equal times across the border of a page are what may
    // go wrong: the ends of spans, and old ones.
    const age = fc.constantFrom(-1, 0, 1, 15, 60, 75, 240, 5461, 90 * 24 * 60);
    const event = fc.record({
      source: fc.constantFrom('a', 'b', 'c'),
      age,
      status: fc.constantFrom('pending', 'done', 'ignored', 'parked'),
      type: fc.constantFrom('x', 'y'),
    });
    const filters = fc.record(
      {
        source: fc.constantFrom('a', 'b'),
        since: fc.constantFrom(0, 15, 5461).map((minutes) => ago(minutes * MINUTE)),
        until: fc.constantFrom(0, 15, 60).map((minutes) => ago(minutes * MINUTE)),
        status: fc.constantFrom('pending' as const, 'done' as const, 'ignored' as const, 'parked' as const),
        type: fc.constantFrom('x', 'y'),
      },
      { requiredKeys: [] },
    );
    // Of short lists, few have two events of one time and of different sources at the border of a page.
    const list = fc.array(event, { minLength: 8, maxLength: 30, size: 'max' });
    // Few events in a look: pages end where it ends, often between events of the same time.
    const looks = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 2 });
    await fc.assert(
      fc.asyncProperty(list, filters, fc.integer({ min: 1, max: 4 }), looks, async (made, filter, limit, looks) => {
        const { since, until, ...equal } = filter;
        await sql('delete from webhooks.events');
        const rows = made.map((row, n) => ({
          ...row,
          event_id: `evt_${n}`,
          received_at: ago(row.age * MINUTE).toISOString(),
        }));
        await sql(
          `insert into webhooks.events (source, event_id, type, status, received_at, due_at)
           select source, event_id, type, status, received_at, received_at
           from json_to_recordset($1) as row (source text, event_id text, type text, status text, received_at timestamptz)`,
          [JSON.stringify(rows)],
        );
        const order = (row: { received_at: string; source: string; event_id: string }) =>
          `${row.received_at} ${row.source} ${row.event_id}`;
        const wanted = rows
          .filter(
            ({ received_at: at }) => (!since || at >= since.toISOString()) && (!until || at < until.toISOString()),
          )
          .filter((row) => Object.entries(equal).every(([name, value]) => Reflect.get(row, name) === value))
          .map(order)
          .sort()
          .reverse();
        expect((await readAll(filter, limit, looks)).map(order)).toEqual(wanted);
      }),
      { ...RUNS, numRuns: 60 },
    );
  });

  it('listEvents pages through events that differ by microseconds', async () => {
    await sql(
      `insert into webhooks.events (source, event_id, status, received_at, due_at)
       select 'stripe', 'evt_' || n, 'done', $1::timestamptz + n * interval '100 microseconds', $1
       from generate_series(1, 25) n`,
      [ago(HOUR)],
    );
    for (const limit of [1, 100]) {
      const ids = (await readAll({}, limit)).map(({ event_id }) => event_id);
      expect(ids).toEqual(Array.from({ length: 25 }, (_, n) => `evt_${25 - n}`));
    }
  });

  it('listEvents finds an event id and its beginning, in each source, also in one that is not configured any more', async () => {
    await receive('stripe', ['evt_1', 'evt_10', 'evt_2', 'evt'], ago(HOUR));
    await receive('gone', ['evt_1', 'evt_11', 'ev_1'], ago(90 * 24 * HOUR));
    const ids = async (filter: EventFilter, limit = 10) => (await readAll(filter, limit)).map((one) => one.event_id);
    expect(await ids({ q: 'evt_1' })).toEqual(['evt_10', 'evt_1', 'evt_11', 'evt_1']);
    expect(await ids({ q: 'evt_1' }, 1)).toEqual(['evt_10', 'evt_1', 'evt_11', 'evt_1']);
    expect(await ids({ q: 'evt_1', source: 'gone' })).toEqual(['evt_11', 'evt_1']);
    expect(await ids({ q: 'evt_1', status: 'done' })).toEqual([]);
    // These are no patterns.
    expect(await ids({ q: 'evt%' })).toEqual([]);
    expect(await ids({ q: 'e_t' })).toEqual([]);
  });

  it('listEvents finds all events of a tenant, the newest first, however many it has', async () => {
    await receive('stripe', ['acme:a', 'acme', 'acme_:a', 'Acme:a', 'acmf:a', 'a:acme:a'], ago(HOUR));
    await receive('gone', ['acme:b', 'acme:'], ago(90 * 24 * HOUR));
    const ids = async (filter: EventFilter) => (await readAll(filter, 500)).map(({ event_id }) => event_id);
    expect(await ids({ q: 'acme:' })).toEqual(['acme:a', 'acme:b', 'acme:']);
    await sql(
      `insert into webhooks.events (source, event_id, status, received_at, due_at)
       select 'stripe', 'acme:' || n, case when n % 1000 = 0 then 'parked' else 'done' end, $1::timestamptz - n * interval '1 second', $1
       from generate_series(1, ${MAX_OF_TENANT}) n`,
      [ago(HOUR)],
    );
    const expected = ['acme:a', ...Array.from({ length: MAX_OF_TENANT }, (_, n) => `acme:${n + 1}`), 'acme:b', 'acme:'];
    expect(await ids({ q: 'acme:' })).toEqual(expected);
    expect(await ids({ q: 'acme:', status: 'parked' })).toEqual(['acme:1000', 'acme:2000']);
    expect(await ids({ q: 'acme:', source: 'gone' })).toEqual(['acme:b', 'acme:']);
    const first = await listEvents(database.ops, { q: 'acme:' }, { after: undefined, limit: 2 });
    expect(first.events.map(({ event_id }) => event_id)).toEqual(expected.slice(0, 2));
  });

  it('listEvents finds the events with an effect that is parked or pending', async () => {
    await receive('stripe', ['a', 'b', 'c'], ago(90 * 24 * HOUR));
    await sql(
      `insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at)
       values ('stripe', 'a', '1', 'mail', '{}', 'parked', $1), ('stripe', 'a', '2', 'mail', '{}', 'parked', $1),
              ('stripe', 'b', '1', 'mail', '{}', 'pending', $1), ('stripe', 'c', '1', 'mail', '{}', 'sent', $1)`,
      [NOW],
    );
    const ids = async (filter: EventFilter) => (await readAll(filter, 10)).map(({ event_id }) => event_id);
    expect(await ids({ effect_status: 'parked' })).toEqual(['a']);
    expect(await ids({ effect_status: 'pending' })).toEqual(['b']);
  });
});

it('loadDetails has the event with its body, its headers, its effects and what operators did', async () => {
  await receive('stripe', ['a'], ago(HOUR));
  const was = { status: 'parked', finished_at: NOW.toISOString(), attempts: 12, error: null };
  const action = { at: NOW.toISOString(), who: 'oncall', action: 'retry', reason: null, was };
  const stored = { ...action, was: { ...was, finished_at: '2026-03-10 12:00:00+00' } };
  await sql(`update webhooks.events set actions = $1`, [JSON.stringify([stored])]);
  await sql(`update webhooks.bodies set body = '{"€":"ü"}'`);
  await sql(
    `insert into webhooks.effects (source, event_id, name, kind, payload, due_at)
     values ('stripe', 'a', 'n', 'k', '{}', $1)`,
    [NOW],
  );
  const details = await loadDetails(database.ops, { source: 'stripe', eventId: 'a' });
  expect(v.parse(EventDetails, details)).toEqual(details);
  expect(details).toMatchObject({
    source: 'stripe',
    event_id: 'a',
    status: 'pending',
    received_at: ago(HOUR).toISOString(),
    finished_at: null,
    body: '{"€":"ü"}',
    body_length: 9,
    headers: { 'content-type': 'application/json' },
    actions: [action],
    effects: [{ name: 'n', kind: 'k', status: 'pending', due_at: NOW.toISOString(), sent_at: null }],
  });
  await sql('delete from webhooks.bodies');
  expect(await loadDetails(database.ops, { source: 'stripe', eventId: 'a' })).toMatchObject({
    body: null,
    headers: null,
  });
  expect(await loadDetails(database.ops, { source: 'stripe', eventId: 'b' })).toBe(undefined);
});
