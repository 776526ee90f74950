import { beforeEach, expect, it } from 'vitest';
import type { NeonRequest } from '../../../scripts/local/neon.ts';
import { claim } from '../../../src/db/claim.ts';
import { claimable } from '../claimable.ts';
import { useDatabase } from '../database.ts';

const database = useDatabase();
const { sql } = database;

const NOW = new Date('2026-03-01T12:00:00Z');
const minutesLater = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);
const claimAll = (ids: string[], now = NOW, source = 'test') =>
  claim(
    database.db,
    source,
    ids.map((id) => claimable(id)),
    {},
    now,
  );

beforeEach(() => sql('truncate webhook_events cascade'));

it('claims an event and keeps its body in one request', async () => {
  let requests = 0;
  database.stack.neon.fault = () => {
    requests++;
    return undefined;
  };
  await claimAll(['a']);
  database.stack.neon.fault = undefined;
  expect(requests).toBe(1);
  expect(await sql('select event_id, body from webhook_bodies')).toEqual([{ event_id: 'a', body: '{}' }]);
});

it('claims each event of a delivery once, though one comes twice in it and one was there before', async () => {
  await claimAll(['b']);
  const { claimed } = await claimAll(['c', 'a', 'b', 'a']);
  expect(claimed.toSorted()).toEqual(['a', 'c']);
});

it('tells two sources with the same id apart', async () => {
  await claimAll(['a']);
  expect((await claimAll(['a'], NOW, 'other')).claimed).toEqual(['a']);
});

it('reports a duplicate as overdue only once its time has passed, and only while it is pending', async () => {
  await claimAll(['a']);
  expect(await claimAll(['a'], minutesLater(9))).toEqual({ claimed: [], overdue: [] });
  expect(await claimAll(['a'], minutesLater(10))).toEqual({ claimed: [], overdue: ['a'] });
  await sql(`update webhook_events set status = 'done'`);
  expect(await claimAll(['a'], minutesLater(10))).toEqual({ claimed: [], overdue: [] });
});

it('finds an event by its fingerprint under whatever id it comes', async () => {
  const one = (eventId: string, now: Date) =>
    claim(database.db, 'test', [claimable(eventId, { fingerprint: 'same' })], {}, now);
  await one('first', NOW);
  expect(await one('second', minutesLater(1))).toEqual({ claimed: [], overdue: [] });
  expect(await one('second', minutesLater(11))).toEqual({ claimed: [], overdue: ['first'] });
  expect(await sql('select event_id from webhook_events')).toEqual([{ event_id: 'first' }]);
});

it('lets exactly one of fifty concurrent claims win', async () => {
  const claims = await Promise.all(Array.from({ length: 50 }, () => claimAll(['a'])));
  expect(claims.filter(({ claimed }) => claimed.length === 1)).toHaveLength(1);
});

it('does not deadlock where deliveries carry the same events in opposite orders', async () => {
  const ids = Array.from({ length: 200 }, (_, n) => `evt_${n}`);
  const claims = await Promise.all(
    Array.from({ length: 20 }, (_, n) => claimAll(n % 2 === 0 ? ids : ids.toReversed())),
  );
  expect(claims.flatMap(({ claimed }) => claimed)).toHaveLength(ids.length);
});

it('finds a duplicate through indexes only, by key and by fingerprint', async () => {
  await sql(`
    insert into webhook_events (source, event_id, received_at, due_at, fingerprint)
    select 'test', 'evt_' || n, now(), now(), 'print_' || n from generate_series(1, 20000) n`);
  await sql('analyze webhook_events');
  const asked: NeonRequest[] = [];
  database.stack.neon.fault = (request) => {
    asked.push(request);
    return undefined;
  };
  await claim(database.db, 'test', [claimable('evt_1', { fingerprint: 'print_2' })], {}, NOW);
  database.stack.neon.fault = undefined;
  const plan = await sql<{ 'QUERY PLAN': string }>(`explain ${asked[0]?.query}`, asked[0]?.params);
  const text = plan.map((row) => row['QUERY PLAN']).join('\n');
  expect(text).toContain('webhook_events_fingerprint');
  expect(text).toContain('webhook_events_source_event_id_pk');
  expect(text).not.toMatch(/Seq Scan on webhook_events|webhook_events_due/);
});
