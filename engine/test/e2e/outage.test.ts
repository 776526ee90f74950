// An outage of the other side parks nothing: drills in virtual time.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { defineEffect } from '../../src/kit/index.ts';
import { useDatabase } from '../database.ts';
import { HOUR, MINUTE, OutsideWorld, SECOND } from './outside-world.ts';

const database = useDatabase();
const { sql } = database;

const START = Date.parse('2026-03-01T08:00:00Z');
const ids = (count: number, name = 'event') => Array.from({ length: count }, (_, n) => `${name}_${n}`);
const post = (host = 'mail.example.com') =>
  defineEffect<string>({
    send: (payload, { key, fetch }) =>
      fetch(`https://${host}/${payload}`, { method: 'POST', headers: { 'idempotency-key': key } }),
  });
const statuses = async () => {
  const rows = await sql<{ status: string; n: number }>(
    'select status, count(*)::int as n from webhooks.effects group by 1',
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
};
const pauses = () => sql('select kind, host, paused_at is not null as paused, backlog from webhooks.pauses order by 1, 2');

beforeEach(async () => {
  await sql('delete from webhooks.events; delete from webhooks.pauses');
});
afterEach(() => vi.restoreAllMocks());

describe('three hours', () => {
  it('a thousand effects: none is parked, the other side is called as often as it is probed, and all are sent after it', async () => {
    const end = START + 3 * HOUR;
    const world = new OutsideWorld({
      database,
      start: START,
      effects: { mail: post() },
      consumers: 10,
      callMs: 100,
      answer: ({ at }) => (at < end ? new Response(null, { status: 503 }) : new Response()),
    });
    await world.addEffects('mail', ids(1000), (n) => START + n * 9 * SECOND);
    await world.workUntil(end);
    const during = world.calls.length;
    console.log('calls during', during, await statuses(), await pauses());
    await world.workUntil(end + HOUR, { untilEmpty: true });
    const last = Math.max(...world.calls.map(({ at }) => at));
    console.log('after', world.calls.length - during, (last - end) / 1000, await statuses(), await pauses(), world.deliveries);
    expect(await statuses()).toEqual({ sent: 1000 });
  }, 300_000);
});
