import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NeonRequest } from '../../cli/local/neon/endpoint.ts';
import { runAction } from '../../src/db/actions.ts';
import { type ClaimResult, claim, findOverdue } from '../../src/db/claim.ts';
import { useDatabase } from '../database.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import { claimRequests, RUNS } from '../pure/generators.ts';

const database = useDatabase();
const { sql } = database;

const NOW = new Date('2026-03-01T12:00:00Z');
const claimAll = (ids: string[], source = 'test') =>
  claim(database.receiver, claimRequest(ids, { source, receivedAt: NOW }));

const claims = (lists: Partial<ClaimResult> = {}): ClaimResult => ({
  claimed: [],
  known: [],
  parked: [],
  refused: [],
  ...lists,
});

/** What Neon was asked. */
let requests: NeonRequest[];

beforeEach(async () => {
  await sql('delete from webhooks.events');
  requests = [];
  database.stack.neon.fault = (request) => {
    requests.push(request);
    return undefined;
  };
});

afterEach(() => {
  database.stack.neon.fault = undefined;
});

it.each([1, 5000])('claims a delivery of %i events with their bodies in one request', async (count) => {
  const events = Array.from({ length: count }, (_, n) => newEvent(`evt_${n}`, { body: `{"n":${n}}`.padEnd(1000) }));
  const { claimed } = await claim(database.receiver, claimRequest(events, { receivedAt: NOW }));
  expect([requests.length, claimed.length]).toEqual([1, count]);
  const [kept] = await sql('select count(*)::int, max(length(body)) as longest from webhooks.bodies');
  expect(kept).toEqual({ count, longest: 1000 });
});

it('finds overdue what is pending of one source, once its time has passed', async () => {
  await claimAll(['a', 'b']);
  await claimAll(['a', 'b'], 'other');
  const overdueAfter = (minutes: number) =>
    findOverdue(database.db, 'test', ['a', 'b', 'unknown'], new Date(NOW.getTime() + minutes * 60_000));
  expect(await overdueAfter(9)).toEqual([]);
  expect((await overdueAfter(10)).toSorted()).toEqual(['a', 'b']);
  await sql(`update webhooks.events set status = 'done' where (source, event_id) = ('test', 'a')`);
  expect(await overdueAfter(10)).toEqual(['b']);
});

it('does not deadlock when deliveries carry the same events in opposite orders', async () => {
  // The event in the middle is held until both claims wait: each has inserted the events that it takes before that one.
  const both = await database.whileLocked(
    `insert into webhooks.events (source, event_id, received_at, due_at) values ('test', 'b', now(), now())`,
    2,
    () => Promise.allSettled([claimAll(['a', 'b', 'c']), claimAll(['c', 'b', 'a'])]),
  );
  const claimed = both.map((one) => (one.status === 'fulfilled' ? one.value.claimed : `${one.reason}`));
  expect(claimed.flat().toSorted()).toEqual(['a', 'b', 'c']);
});

describe('a suspected replay', () => {
  const NAMES = Array.from({ length: 50 }, (_, n) => `evt_${n}`);
  const replay = (eventId: string, maxReplays?: number) => {
    const event = newEvent(eventId, { fingerprint: 'same', isBodyHash: true });
    return claim(database.receiver, claimRequest([event], { receivedAt: NOW }), maxReplays);
  };

  it('is claimed as parked in a second request, with its body and with an error that says what to do', async () => {
    await replay('first');
    requests = [];
    const answer = await replay('second').catch((error: unknown) => error);
    expect(answer).toEqual(claims({ parked: ['second'] }));
    expect(requests).toHaveLength(2);
    const [row] = await sql<{ last_error: string }>(
      `select status, failure, last_error, finished_at, body from webhooks.events join webhooks.bodies using (source, event_id)
       where event_id = 'second'`,
    );
    expect(row).toMatchObject({ status: 'parked', failure: 'replay', finished_at: NOW, body: '{}' });
    expect(row?.last_error).toMatch(/event first has the same body.*retry.*discard.*bodiesRepeat/i);
    expect(await sql(`select last_error from webhooks.events where event_id = 'first'`)).toEqual([
      { last_error: null },
    ]);
  });

  it('is an ordinary event once the first event of its replay key has been pruned', async () => {
    await replay('first');
    await replay('second');
    await sql(`delete from webhooks.events where event_id = 'first'`);
    expect(await replay('third')).toEqual(claims({ claimed: ['third'] }));
  });

  it('has the body of an earlier one that is parked, without storing it again', async () => {
    for (const name of ['first', 'b', 'a', 'c']) await replay(name);
    const stored = await sql(
      `select event_id, body_of, body from webhooks.events left join webhooks.bodies using (source, event_id) order by 1`,
    );
    expect(stored).toEqual([
      { event_id: 'a', body_of: 'b', body: null },
      { event_id: 'b', body_of: null, body: '{}' },
      { event_id: 'c', body_of: 'b', body: null },
      { event_id: 'first', body_of: null, body: '{}' },
    ]);
  });

  it('makes room for another one by being retried or discarded', async () => {
    for (const name of ['first', 'a', 'b']) await replay(name, 2);
    expect(await replay('d', 2)).toEqual(claims({ refused: ['d'] }));
    const by = { at: NOW, who: 'test', sendEffectsAgain: false, reason: 'because' };
    await runAction(database.ops, { ...by, action: 'retry', filter: { q: 'a' } });
    expect(await replay('d', 2)).toEqual(claims({ parked: ['d'] }));
    await runAction(database.ops, { ...by, action: 'discard', filter: { q: 'b' } });
    expect(await replay('e', 2)).toEqual(claims({ parked: ['e'] }));
    expect(await replay('f', 2)).toEqual(claims({ refused: ['f'] }));
  });

  it('is parked although the first event was not committed yet when it came', async () => {
    const parked = await database.whileLocked(
      `insert into webhooks.events (source, event_id, received_at, due_at, fingerprint)
       values ('test', 'first', now(), now(), 'same')`,
      2,
      () => Promise.all([replay('a'), replay('b')]),
      'commit',
    );
    expect(parked).toEqual([claims({ parked: ['a'] }), claims({ parked: ['b'] })]);
  });

  it('of fifty at the same moment: one event is claimed, and all others are parked', async () => {
    const all = await Promise.all(NAMES.map((name) => replay(name)));
    const lengths = (['claimed', 'parked', 'refused'] as const).map((list) => all.flatMap((one) => one[list]).length);
    expect(lengths).toEqual([1, 49, 0]);
  });

  it('is not seen in concurrent deliveries of one event, of which exactly one is claimed', async () => {
    for (const deliver of [() => replay('a'), () => claimAll(['b'])]) {
      const all = await Promise.all(NAMES.map(deliver));
      expect(all.filter(({ claimed }) => claimed.length === 1)).toHaveLength(1);
      expect(all.flatMap(({ parked, refused }) => [...parked, ...refused])).toEqual([]);
    }
  });
});

describe('an event with a known id and another replay key, of a provider that does not sign its ids', () => {
  const hashOf = (id: string, fingerprint: string) =>
    createHash('sha256')
      .update(JSON.stringify([id, fingerprint]))
      .digest('hex');
  const requestOf = (named: readonly (readonly [id: string, fingerprint: string])[], unsignedIds = true) => {
    const all = named.map(([id, fingerprint]) => newEvent(id, { fingerprint, body: `{"body":"${fingerprint}"}` }));
    return claimRequest(all, { receivedAt: NOW, unsignedIds });
  };
  const deliver = (...named: (readonly [id: string, fingerprint: string])[]) =>
    claim(database.receiver, requestOf(named));
  const rows = () =>
    sql(`select event_id, original_id, status, failure, replay_number, body from webhooks.events
         natural join webhooks.bodies order by received_at, fingerprint, replay_number`);

  it('runs under a hash of both if the event that has its id is a suspected replay', async () => {
    await deliver(['1001', 'X']);
    expect(await deliver(['1002', 'X'])).toEqual(claims({ parked: ['1002'] }));
    const key = hashOf('1002', 'Y');
    requests = [];
    expect(await deliver(['1002', 'Y'])).toEqual(claims({ claimed: [key] }));
    expect(requests).toHaveLength(2);
    expect(await deliver(['1002', 'Y'])).toEqual(claims({ known: [key] }));
    const common = { original_id: null, status: 'pending', failure: null, replay_number: 0, body: '{"body":"X"}' };
    expect(await rows()).toEqual([
      { ...common, event_id: '1001' },
      { ...common, event_id: '1002', status: 'parked', failure: 'replay', replay_number: expect.any(Number) },
      { ...common, event_id: key, original_id: '1002', body: '{"body":"Y"}' },
    ]);
  });

  it('is parked under a hash of both if not, as often as replays may be parked, and leaves its replay key to a real event', async () => {
    await deliver(['1001', 'X']);
    const key = hashOf('1001', 'Y');
    expect(await deliver(['1001', 'Y'])).toEqual(claims({ parked: [key] }));
    expect(await deliver(['1001', 'Y'])).toEqual(claims({ known: [key] }));
    expect(await sql(`select last_error from webhooks.events where event_id = $1`, [key])).toEqual([
      { last_error: expect.stringMatching(/^suspected replay: event 1001 has the same id and another body\. Retry/) },
    ]);
    expect(await deliver(['1002', 'Y'])).toEqual(claims({ claimed: ['1002'] }));
    for (const id of ['2001', '2002']) await deliver([id, `of ${id}`]);
    const again = (id: string) => claim(database.receiver, requestOf([[id, 'Y']]), 2);
    expect(await again('2001')).toEqual(claims({ parked: [hashOf('2001', 'Y')] }));
    expect(await again('2002')).toEqual(claims({ refused: [hashOf('2002', 'Y')] }));
  });

  it('is claimed in a batch as it is alone, whatever the other events are', async () => {
    await deliver(['1001', 'X']);
    await deliver(['1002', 'X']);
    await deliver(['1003', 'Z']);
    const batch = [
      ['1001', 'X'],
      ['1002', 'Y'],
      ['1003', 'A'],
      ['1004', 'B'],
      ['1005', 'Z'],
    ] as const;
    const [runs, waits] = [hashOf('1002', 'Y'), hashOf('1003', 'A')];
    const first = claims({ claimed: ['1004', runs], known: ['1001'], parked: ['1005', waits] });
    expect(await deliver(...batch)).toEqual(first);
    expect(await deliver(...batch)).toEqual(claims({ known: ['1001', '1004', '1005', runs, waits] }));
  });

  it('is found although the event that has its id was not committed yet when it came', async () => {
    const whileOther = (fingerprint: string) =>
      database.whileLocked(
        `insert into webhooks.events (source, event_id, received_at, due_at, fingerprint)
         values ('test', '${fingerprint}', now(), now(), '${fingerprint}')`,
        2,
        () => Promise.all([deliver([fingerprint, fingerprint]), deliver([fingerprint, 'other'], ['b', 'b'])]),
        'commit',
      );
    expect(await whileOther('X')).toEqual([
      claims({ known: ['X'] }),
      claims({ claimed: ['b'], parked: [hashOf('X', 'other')] }),
    ]);
  });

  it('is known if another delivery of it was just being parked', async () => {
    await deliver(['1001', 'X']);
    const key = hashOf('1001', 'Y');
    const parked = await database.whileLocked(
      `insert into webhooks.events (source, event_id, received_at, due_at, finished_at, fingerprint, replay_number, status, failure)
       values ('test', '${key}', now(), now(), now(), 'Y', 7, 'parked', 'replay')`,
      1,
      () => deliver(['1001', 'Y']),
      'commit',
    );
    expect(parked).toEqual(claims({ known: [key] }));
  });

  it('is a duplicate if the provider signs its ids, without a look at the other event', async () => {
    const body = await claim(database.receiver, requestOf([['1001', 'X']], false));
    expect(body.claimed).toEqual(['1001']);
    requests = [];
    expect(await claim(database.receiver, requestOf([['1001', 'Y']], false))).toEqual(claims({ known: ['1001'] }));
    expect(requests).toHaveLength(1);
    expect(requests[0]?.query).not.toContain('union all');
    expect(
      await claim(
        database.receiver,
        requestOf(
          [
            ['1001', 'Y'],
            ['b', 'b'],
          ],
          false,
        ),
      ),
    ).toEqual(claims({ claimed: ['b'], known: ['1001'] }));
  });
});

const withSignedIds = claimRequests.map((request) => ({ ...request, unsignedIds: false }));

describe('whatever two sources deliver, in whatever order', () => {
  interface Row {
    readonly source: string;
    readonly event_id: string;
    readonly fingerprint: string | null;
    readonly replay_number: number;
    readonly status: string;
  }

  it('each event is claimed once, parked if its replay key is known at its source, or refused if too many of these are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(withSignedIds, { minLength: 1, maxLength: 5 }), async (deliveries) => {
        await sql('delete from webhooks.events');
        // Of one source nine replays wait already, and its first event is parked for another reason. Of the other all ten do.
        await sql(
          `insert into webhooks.events (source, event_id, received_at, due_at, status, fingerprint, replay_number)
           select source, 'old ' || n, $1, $1, 'parked', 'evt_1', n
           from (values ('stripe', 9), ('github-org', 10)) as full_of (source, replays), generate_series(0, replays) n`,
          [NOW],
        );
        for (const delivery of deliveries) {
          const { source, events, receivedAt, headers } = delivery;
          const before = (await sql<Row>('select * from webhooks.events')).filter((row) => row.source === source);
          requests = [];
          const result = await claim(database.receiver, delivery, 10);
          // One request, also for a duplicate: only a suspected replay takes more.
          expect(requests.length > 1).toBe(result.parked.length + result.refused.length > 0);

          const isKnown = ({ eventId }: (typeof events)[number]) => before.some((row) => row.event_id === eventId);
          const fresh = events.filter((event) => !isKnown(event)).toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1));
          const keys = new Set(before.filter((row) => row.replay_number === 0).map((row) => row.fingerprint));
          const first = fresh.filter(({ fingerprint }) => {
            if (fingerprint === null || keys.has(fingerprint)) return fingerprint === null;
            return keys.add(fingerprint);
          });
          const replays = fresh.filter((event) => !first.includes(event));
          expect(result.claimed.toSorted()).toEqual(first.map(({ eventId }) => eventId).toSorted());
          expect([...result.parked, ...result.refused].toSorted()).toEqual(
            replays.map(({ eventId }) => eventId).toSorted(),
          );
          for (const key of new Set(replays.map(({ fingerprint }) => fingerprint))) {
            const waiting = before.filter((row) => row.fingerprint === key && row.replay_number > 0);
            const ofKey = replays.filter(({ fingerprint }) => fingerprint === key);
            const parked = ofKey.filter(({ eventId }) => result.parked.includes(eventId));
            expect(parked).toHaveLength(waiting.length < 10 ? ofKey.length : 0);
          }

          const rows = await sql<{ event_id: string; last_error: string | null }>(
            `select * from webhooks.events natural join webhooks.bodies where source = $1 and event_id = any($2)`,
            [source, [...result.claimed, ...result.parked]],
          );
          expect(rows).toHaveLength(result.claimed.length + result.parked.length);
          const firsts = await sql<Row>('select * from webhooks.events where replay_number = 0');
          for (const { event_id: id, last_error, ...row } of rows) {
            const { eventId: _, ...event } = events.find(({ eventId }) => eventId === id) as (typeof events)[number];
            const isParked = result.parked.includes(id);
            expect(row).toMatchObject({
              type: event.type,
              occurred_at: event.occurredAt,
              fingerprint: event.fingerprint,
              body: event.body,
              headers,
              received_at: receivedAt,
              due_at: new Date(receivedAt.getTime() + (isParked ? 0 : 600_000)),
              finished_at: isParked ? receivedAt : null,
              status: isParked ? 'parked' : 'pending',
              failure: isParked ? 'replay' : null,
            });
            const same = firsts.find((one) => one.source === source && one.fingerprint === event.fingerprint);
            expect(last_error ?? '').toContain(isParked ? `event ${same?.event_id} has` : '');
          }
        }
      }),
      { ...RUNS, numRuns: 60 },
    );
  });
});

it('finds a duplicate through indexes only, by id and by replay key', async () => {
  await sql(`
    insert into webhooks.events (source, event_id, received_at, due_at, fingerprint)
    select 'test', 'evt_' || n, now(), now(), 'print_' || n from generate_series(1, 20000) n`);
  await sql('analyze webhooks.events');
  const claimWith = (id: string, fingerprint: string) =>
    claim(database.receiver, claimRequest([newEvent(id, { fingerprint })], { receivedAt: NOW }));
  await claimWith('evt_1', 'print_1');
  await claimWith('new', 'print_2');
  const planOf = async ({ query, params = [] }: NeonRequest) =>
    (await sql<{ 'QUERY PLAN': string }>(`explain ${query}`, params)).map((row) => row['QUERY PLAN']).join('\n');
  const [duplicate = '', , suspect = ''] = await Promise.all(requests.map(planOf));
  expect(duplicate).toContain('events_source_event_id_pk');
  expect(suspect).toContain('fingerprint_once');
  for (const plan of [duplicate, suspect]) expect(plan).not.toMatch(/Seq Scan on events|events_due/);
});
