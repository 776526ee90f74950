import { beforeEach, describe, expect, it } from 'vitest';
import { claim } from '../../src/db/claim.ts';
import { loadEvents } from '../../src/db/events.ts';
import { prune, takeOverdue } from '../../src/db/sweep.ts';
import { loadDetails } from '../../src/db/views.ts';
import { useDatabase } from '../database.ts';
import { claimRequest, newEvent } from '../new-event.ts';

const database = useDatabase();
const { sql } = database;

const NOW = new Date('2026-03-01T12:00:00Z');
const later = ({ minutes = 0, days = 0 }) => new Date(NOW.getTime() + minutes * 60_000 + days * 86_400_000);
const claimMany = (count: number) => {
  const ids = Array.from({ length: count }, (_, n) => `evt_${n}`);
  return claim(database.receiver, claimRequest(ids, { receivedAt: NOW }));
};
const finish = (id: string, status = 'done') =>
  sql(`update webhooks.events set status = $2, finished_at = $3 where event_id = $1`, [id, status, NOW]);
const addEffect = (id: string, status = 'pending') =>
  sql(
    `insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at)
     values ('test', $1, 'receipt', 'receipt', '{}', $2, $3)`,
    [id, status, NOW],
  );

beforeEach(() => sql('delete from webhooks.events'));

describe('the sweep', () => {
  it('the sweep takes only pending events that are overdue', async () => {
    await claimMany(4);
    await finish('evt_1');
    await finish('evt_2', 'parked');
    await sql('update webhooks.events set due_at = $1 where event_id = $2', [later({ minutes: 60 }), 'evt_3']);
    expect((await takeOverdue(database.consumer, later({ minutes: 9 }))).events).toEqual([]);
    expect((await takeOverdue(database.consumer, later({ minutes: 10 }))).events).toEqual([
      { source: 'test', eventId: 'evt_0' },
    ]);
  });

  it('the sweep takes overdue effects, each once', async () => {
    await claimMany(2);
    await finish('evt_0');
    await finish('evt_1');
    await addEffect('evt_0');
    await addEffect('evt_1', 'sent');
    const overdue = await takeOverdue(database.consumer, later({ minutes: 1 }));
    expect(overdue).toEqual({ events: [], effects: [{ source: 'test', eventId: 'evt_0', name: 'receipt' }] });
    expect((await takeOverdue(database.consumer, later({ minutes: 2 }))).effects).toEqual([]);
  });

  it('the sweep takes what stays pending at intervals that double up to a day: an event since its receipt, an effect since its event was done', async () => {
    await claimMany(2);
    await sql(`update webhooks.events set status = 'done', finished_at = $1 where event_id = 'evt_1'`, [NOW]);
    // Received long before it was done.
    await sql(`update webhooks.events set received_at = $1 where event_id = 'evt_1'`, [later({ days: -9 })]);
    await addEffect('evt_1');
    const taken = async (minutes: number) => {
      const { events, effects } = await takeOverdue(database.consumer, later({ minutes }));
      return [events.length, effects.length];
    };
    expect(await taken(15)).toEqual([1, 1]);
    for (const hours of [0.5, 1, 2, 4, 8, 16, 32, 56, 80]) {
      expect([hours, await taken(hours * 60 - 1), await taken(hours * 60)]).toEqual([hours, [0, 0], [1, 1]]);
    }
  });

  it('of a backlog, the sweep takes first what has been due for the longest time, and what is new is not kept waiting', async () => {
    await claimMany(503);
    await sql(
      `insert into webhooks.effects (source, event_id, name, kind, payload, due_at)
       select source, event_id, 'receipt', 'receipt', '{}', due_at from webhooks.events`,
    );
    for (const table of ['events', 'effects']) {
      await sql(`update webhooks.${table} set due_at = $1 where event_id in ('evt_7', 'evt_502')`, [NOW]);
    }
    // Without figures about the tables, Postgres reads them in the order of the index, with or without being told to.
    await sql('analyze webhooks.events, webhooks.effects');
    const { events, effects } = await takeOverdue(database.consumer, later({ minutes: 10 }));
    for (const taken of [events, effects]) {
      expect(taken.map(({ eventId }) => eventId)).toEqual(expect.arrayContaining(['evt_7', 'evt_502']));
    }
  });

  it('the sweep does not wait for a row that another transaction has locked', async () => {
    await claimMany(3);
    const { events } = await database.whileLocked(
      `select from webhooks.events where event_id = 'evt_1' for update`,
      0,
      () => takeOverdue(database.consumer, later({ minutes: 10 })),
    );
    expect(events.map(({ eventId }) => eventId).toSorted()).toEqual(['evt_0', 'evt_2']);
  });
});

describe('pruning', () => {
  const left = async () => ({
    events: (await sql<{ event_id: string }>('select event_id from webhooks.events order by 1')).map(
      (row) => row.event_id,
    ),
    bodies: (await sql<{ event_id: string }>('select event_id from webhooks.bodies order by 1')).map(
      (row) => row.event_id,
    ),
  });

  it('the body of a finished event is pruned after BODY_DAYS, and its key after DEDUPE_DAYS', async () => {
    await claimMany(1);
    await finish('evt_0');
    expect(await prune(database.consumer, later({ days: 7 }), 30, 7)).toEqual({ events: 0, bodies: 0 });
    expect(await prune(database.consumer, later({ days: 8 }), 30, 7)).toEqual({ events: 0, bodies: 1 });
    expect(await prune(database.consumer, later({ days: 30 }), 30, 7)).toEqual({ events: 0, bodies: 0 });
    expect(await prune(database.consumer, later({ days: 31 }), 30, 7)).toMatchObject({ events: 1 });
    expect(await left()).toEqual({ events: [], bodies: [] });
  });

  it('the body of an event that was finished late is kept for BODY_DAYS from then on', async () => {
    await claimMany(1);
    await sql(`update webhooks.events set status = 'done', finished_at = $1`, [later({ days: 20 })]);
    expect(await prune(database.consumer, later({ days: 27 }), 30, 7)).toEqual({ events: 0, bodies: 0 });
    expect(await prune(database.consumer, later({ days: 28 }), 30, 7)).toEqual({ events: 0, bodies: 1 });
  });

  it('the body that suspected replays share is kept until the last of them is decided', async () => {
    for (const id of ['first', 'a', 'b', 'c']) {
      const event = newEvent(id, { fingerprint: 'same', isBodyHash: true, body: '{"the":"same"}' });
      await claim(database.receiver, claimRequest([event], { receivedAt: NOW }));
    }
    expect((await left()).bodies).toEqual(['a', 'first']);
    await finish('first');
    await finish('a');
    await finish('b', 'pending');
    expect(await prune(database.consumer, later({ days: 31 }), 30, 7)).toMatchObject({ events: 1 });
    expect(await left()).toEqual({ events: ['a', 'b', 'c'], bodies: ['a'] });
    const [event] = await loadEvents(database.consumer, [{ source: 'test', eventId: 'b' }]);
    expect(event?.body).toBe('{"the":"same"}');
    expect(await loadDetails(database.ops, { source: 'test', eventId: 'c' })).toMatchObject({ body: event?.body });
    await finish('b');
    await finish('c');
    await prune(database.consumer, later({ days: 31 }), 30, 7);
    expect(await left()).toEqual({ events: [], bodies: [] });
  });

  it('an event that was old when it finished is kept for an hour, because another consumer may still be working it', async () => {
    await claimMany(2);
    await finish('evt_0');
    await sql(`update webhooks.events set status = 'done', finished_at = $1 where event_id = 'evt_1'`, [
      later({ days: 31 }),
    ]);
    const minutesAfter = async (minutes: number) =>
      (await prune(database.consumer, later({ days: 31, minutes }), 30, 7)).events;
    expect([await minutesAfter(0), await minutesAfter(60), await minutesAfter(61)]).toEqual([1, 0, 1]);
  });

  it('the oldest events are pruned first, in whatever order they are stored', async () => {
    await sql(
      `insert into webhooks.events (source, event_id, received_at, due_at, status, finished_at)
       select 'test', 'evt_' || n, at, at, 'done', at
       from generate_series(1, 1500) n, lateral (select $1::timestamptz - n * interval '1 second' as at) as received`,
      [NOW],
    );
    expect(await prune(database.consumer, later({ days: 31 }), 30, 7)).toEqual({ events: 1000, bodies: 0 });
    expect(await sql(`select min(received_at) as oldest from webhooks.events`)).toEqual([
      { oldest: new Date(NOW.getTime() - 500_000) },
    ]);
  });

  it('events that are pending, parked or have an effect to send are never pruned', async () => {
    await claimMany(5);
    await finish('evt_1', 'parked');
    for (const id of ['evt_2', 'evt_3', 'evt_4']) await finish(id);
    await addEffect('evt_2');
    await addEffect('evt_3', 'parked');
    await addEffect('evt_4', 'sent');
    await prune(database.consumer, later({ days: 365 }), 30, 7);
    expect(await left()).toEqual({ events: ['evt_0', 'evt_1', 'evt_2', 'evt_3'], bodies: ['evt_0', 'evt_1'] });
  });
});
