import { beforeEach, describe, expect, it, vi } from 'vitest';
import { tick } from '../../src/consumer/consumer.ts';
import { parkDeadLetters } from '../../src/consumer/dead-letters.ts';
import { readMessage } from '../../src/consumer/messages.ts';
import { runAction } from '../../src/db/actions.ts';
import { loadEffects } from '../../src/db/effects.ts';
import { eraseEvents } from '../../src/db/erase.ts';
import { isCompletedBefore } from '../../src/db/errors.ts';
import { complete, loadEvents } from '../../src/db/events.ts';
import { defineSources } from '../../src/kit/index.ts';
import { github } from '../../src/providers/github.ts';
import { pack } from '../../src/queue/forwarded.ts';
import type { LogLine } from '../../src/shared/log.ts';
import { createTenants } from '../../src/tenants/index.ts';
import { useDatabase } from '../database.ts';
import { FakeQueue } from '../fake-queue.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import { neonAnswer } from '../receiver/in-node.ts';
import { insertRows } from '../seed.ts';

const database = useDatabase();
const { sql } = database;

const NOW = new Date('2026-03-01T12:00:00Z');
const minutes = (count: number) => new Date(NOW.getTime() + count * 60_000);
const id = { source: 'shops', tenant: 'acme' };
const PERSONAL = 'jane@example.com';

const tenantsAt = (now: Date) =>
  createTenants({
    sources: defineSources({ shops: { provider: github, types: '*', tenants: true } }),
    databaseUrl: database.stack.workerUrls.ops ?? '',
    tenantsKey: 'k'.repeat(32),
    now: () => now,
  });

let lines: LogLine[];
const erasures = () => lines.filter(({ step }) => step === 'erase');

async function cron(now: Date): Promise<void> {
  const queues = { EVENTS: new FakeQueue(), EFFECTS: new FakeQueue() };
  const env = { DATABASE_URL: database.stack.workerUrls.consumer, ...queues, DEDUPE_DAYS: 30, BODY_DAYS: 7 };
  await tick(env as unknown as ConsumerEnv, now, (line) => lines.push(line));
}

/** Everything that the engine's tables hold of an event, but for its key and its times. */
const contentsOf = (where: string) =>
  sql<{ text: string }>(
    `select concat_ws(' ', e.summary, e.last_error, e.failed_paths, e.actions, e.order_key, b.body, b.headers, f.payload, f.last_error,
            f.cancel_key, k.order_key, c.cancel_key) as text
     from webhooks.events e left join webhooks.bodies b using (source, event_id) left join webhooks.effects f using (source, event_id)
     left join webhooks.order_keys k on (k.source, k.order_key) = (e.source, e.order_key)
     left join webhooks.cancellations c on (c.source, c.cancel_key) = (f.source, f.cancel_key)
     where ${where} order by e.source, e.event_id, f.name`,
  );

/** An event in each state, with everything personal that it can hold, and effects. */
async function seed(prefix: string, source = 'shops'): Promise<void> {
  const statuses = ['pending', 'done', 'ignored', 'parked'];
  const events = statuses.map((status, n) => ({
    source,
    event_id: `${prefix}${status}`,
    status,
    received_at: NOW,
    due_at: NOW,
    finished_at: status === 'pending' ? null : NOW,
    completions: Number(status === 'done'),
    failure: status === 'parked' ? 'schema' : null,
    last_error: PERSONAL,
    failed_paths: [PERSONAL],
    summary: PERSONAL,
    order_key: `${prefix}${PERSONAL}`,
    order_place: n,
    holds: status === 'parked',
    actions: [{ reason: PERSONAL }],
  }));
  const bodies = events.map(({ event_id }) => ({ source, event_id, body: PERSONAL, headers: {}, received_at: NOW }));
  const effects = ['pending', 'sent', 'parked', 'cancelled'].map((status) => ({
    source,
    event_id: `${prefix}done`,
    name: status,
    generation: crypto.randomUUID(),
    kind: 'mail',
    payload: JSON.stringify(PERSONAL),
    status,
    attempts: 0,
    due_at: NOW,
    cancel_key: `${prefix}${PERSONAL}/${status}`,
  }));
  await insertRows(sql, { events, bodies, effects });
  await sql(
    `insert into webhooks.order_keys (source, order_key, turn, received_at, order_place, event_id)
     values ($1, $2, gen_random_uuid(), $3, 0, $4)`,
    [source, `${prefix}${PERSONAL}`, NOW, `${prefix}done`],
  );
  await sql(`insert into webhooks.cancellations (source, kind, cancel_key, cancelled_at) values ($1, 'mail', $2, $3)`, [
    source,
    `${prefix}${PERSONAL}/cancelled`,
    NOW,
  ]);
}

beforeEach(async () => {
  for (const table of ['events', 'tenants', 'order_keys', 'cancellations']) await sql(`delete from webhooks.${table}`);
  lines = [];
  await tenantsAt(NOW).put('shops', 'acme');
});

describe('a tenant that is marked', () => {
  it('is erased by the cron: only the keys of its events stay, and nothing of them can run', async () => {
    await seed('acme:');
    await tenantsAt(NOW).erase('shops', 'acme');
    await cron(minutes(15));
    expect(erasures()).toEqual([{ step: 'erase', outcome: 'done', ...id, events: 4 }]);
    expect(await contentsOf('true')).toEqual(Array(4).fill({ text: 'erased with its tenant' }));
    for (const table of ['bodies', 'effects', 'order_keys', 'cancellations']) {
      expect([table, await sql(`select from webhooks.${table}`)]).toEqual([table, []]);
    }
    const rows = await sql<{ status: string }>(
      'select event_id, status, finished_at from webhooks.events order by event_id',
    );
    expect(rows).toEqual([
      { event_id: 'acme:done', status: 'done', finished_at: NOW },
      { event_id: 'acme:ignored', status: 'ignored', finished_at: NOW },
      { event_id: 'acme:parked', status: 'ignored', finished_at: minutes(15) },
      { event_id: 'acme:pending', status: 'ignored', finished_at: minutes(15) },
    ]);
    const listed = await tenantsAt(NOW).list('shops');
    expect(listed).toMatchObject({ tenants: [{ tenant: 'acme', erasedAt: minutes(15).toISOString() }] });
    await cron(minutes(30));
    expect(erasures()).toHaveLength(1);
  });

  it('takes nothing of the others with it', async () => {
    const others = ['acme', 'acme_', 'acmf:', 'acm:', 'ACME:', 'acme;', 'xacme:', 'ac%:', ''];
    for (const prefix of others) await seed(prefix);
    await seed('acme:', 'other');
    const before = await contentsOf('true');
    await tenantsAt(NOW).erase('shops', 'acme');
    await cron(minutes(15));
    expect(erasures()).toEqual([{ step: 'erase', outcome: 'done', ...id, events: 0 }]);
    expect(await contentsOf('true')).toEqual(before);
    expect(await sql(`select from webhooks.effects`)).toHaveLength(4 * (others.length + 1));
  });

  it('is erased only when no receiver takes its deliveries any more', async () => {
    await seed('acme:');
    await tenantsAt(NOW).erase('shops', 'acme');
    await cron(minutes(4));
    expect([erasures(), await sql('select from webhooks.bodies')]).toEqual([
      [],
      expect.objectContaining({ length: 4 }),
    ]);
  });

  it('that is only disabled keeps its events', async () => {
    await seed('acme:');
    await tenantsAt(NOW).disable('shops', 'acme');
    await cron(minutes(15));
    expect([erasures(), await sql('select from webhooks.bodies')]).toEqual([
      [],
      expect.objectContaining({ length: 4 }),
    ]);
  });

  it('with many events is erased in chunks, and a run goes on where one was killed', async () => {
    await sql(
      `insert into webhooks.events (source, event_id, received_at, due_at)
       select 'shops', 'acme:' || n, $1, $1 from generate_series(1, 2500) n`,
      [NOW],
    );
    await sql(
      `insert into webhooks.bodies (source, event_id, received_at, body, headers) select source, event_id, received_at, 'x', '{}' from webhooks.events`,
    );
    await tenantsAt(NOW).erase('shops', 'acme');
    expect(await eraseEvents(database.consumer, id, '', NOW)).toEqual({ events: 1000, last: expect.any(String) });
    await cron(minutes(15));
    expect(erasures()).toEqual([{ step: 'erase', outcome: 'done', ...id, events: 1500 }]);
    expect(await sql(`select from webhooks.bodies`)).toEqual([]);
    expect(await sql(`select from webhooks.events where status <> 'ignored'`)).toEqual([]);
  });

  it('is not said to be erased if the run takes too many chunks', async () => {
    let noted = 0;
    const fetched = vi.spyOn(globalThis, 'fetch').mockImplementation(async (_url, init) => {
      const { query } = JSON.parse(String(init?.body));
      if (query.includes('erased_bodies')) return neonAnswer({ events: 1000, last: 'acme:x' });
      if (query.includes('set "erased_at"')) noted++;
      return query.includes('limit') && query.includes('"tenants"') ? neonAnswer(id) : neonAnswer();
    });
    await cron(minutes(15)).finally(() => fetched.mockRestore());
    expect(erasures()).toEqual([{ step: 'erase', outcome: 'unfinished', ...id, events: 300_000 }]);
    expect(noted).toBe(0);
  });

  it('keeps no effect of a run that commits at the same moment', async () => {
    await seed('acme:');
    await tenantsAt(NOW).erase('shops', 'acme');
    const commits = `with done as (
        update webhooks.events set status = 'done', completions = 1, summary = '${PERSONAL}' where event_id = 'acme:pending' returning *)
      insert into webhooks.effects (source, event_id, name, kind, payload, due_at)
      select source, event_id, 'late', 'mail', '"${PERSONAL}"', due_at from done`;
    await database.whileLocked(commits, 1, () => cron(minutes(15)), 'commit');
    expect(erasures()).toEqual([{ step: 'erase', outcome: 'done', ...id, events: 4 }]);
    expect(await contentsOf('true')).toEqual(Array(4).fill({ text: 'erased with its tenant' }));
  });

  it('and again meanwhile is erased again by the next run', async () => {
    await tenantsAt(NOW).erase('shops', 'acme');
    await tenantsAt(minutes(12)).erase('shops', 'acme');
    await cron(minutes(15));
    await cron(minutes(30));
    expect(erasures()).toHaveLength(1);
  });

  it('lets no run commit what it has loaded before, and no operator retry or rerun anything', async () => {
    await seed('acme:');
    const key = { source: 'shops', eventId: 'acme:pending' };
    await tenantsAt(NOW).erase('shops', 'acme');
    await cron(minutes(15));
    const done = { ...key, status: 'done' as const, summary: PERSONAL, statements: [], effects: [] };
    const error = await complete(database.consumer, [done], NOW).catch((thrown: unknown) => thrown);
    expect(isCompletedBefore(error)).toBe(true);
    for (const action of ['retry', 'rerun'] as const) {
      for (const eventId of ['pending', 'parked', 'ignored', 'done']) {
        const filter = { source: 'shops', q: `acme:${eventId}` };
        const asked = { action, filter, who: 'x', at: NOW, sendEffectsAgain: true };
        expect(await runAction(database.ops, asked)).toMatchObject({ events: 0, effects: 0 });
      }
    }
    expect(await loadEvents(database.consumer, [key])).toMatchObject([{ status: 'ignored', hasBody: false }]);
    const effect = { source: 'shops', eventId: 'acme:done', name: 'pending' };
    expect(await loadEffects(database.consumer, [effect])).toEqual([]);
  });
});

describe('a delivery on the queue', () => {
  const forwarded = async (receivedAt: Date) => {
    const request = claimRequest([newEvent('acme:late', { body: PERSONAL })], { source: 'shops', receivedAt });
    const body = (await pack({ ...request, tenant: 'acme' }))?.buffer;
    return { body, attempts: 1, timestamp: NOW, ack() {}, retry() {} };
  };
  const read = async (receivedAt: Date) => {
    const message = await forwarded(receivedAt);
    return readMessage(message, database.consumer, (line) => lines.push(line));
  };
  const DROPPED = { events: [], unreadable: false };
  const CLAIMED = { events: [{ source: 'shops', eventId: 'acme:late' }], unreadable: false };
  const log = { step: 'completion', outcome: 'erased', ...id, event_id: 'acme:late' };

  it('for a tenant that is marked or erased is dropped with a line, whenever it arrived', async () => {
    await tenantsAt(NOW).erase('shops', 'acme');
    expect([await read(minutes(-60)), await read(minutes(1))]).toEqual([DROPPED, DROPPED]);
    await cron(minutes(15));
    expect([await read(NOW), await read(minutes(16))]).toEqual([DROPPED, DROPPED]);
    expect(lines.filter(({ outcome }) => outcome === 'erased')).toEqual([log, log, log, log]);
    expect(await sql('select from webhooks.events')).toEqual([]);
  });

  it('is dropped as well if it comes back from the dead letter queue', async () => {
    await tenantsAt(NOW).erase('shops', 'acme');
    const env = { DATABASE_URL: database.stack.workerUrls.consumer } as unknown as ConsumerEnv;
    const message = await forwarded(NOW);
    const portion = { messages: [message], isAgain: false, isLate: () => false, begun: undefined };
    const logged = { now: () => NOW, log: (line: LogLine) => lines.push(line) };
    const settled = await parkDeadLetters('events', portion, env, logged as never);
    expect([settled.get(message), lines]).toEqual([[], [{ ...log, step: 'dead_letter' }]]);
    expect(await sql('select from webhooks.bodies')).toEqual([]);
  });

  it('for a tenant that is made again is dropped if it is from before, and claimed if not', async () => {
    await tenantsAt(NOW).erase('shops', 'acme');
    await cron(minutes(15));
    await tenantsAt(minutes(20)).put('shops', 'acme');
    expect(await read(minutes(2))).toEqual(DROPPED);
    expect(await read(minutes(21))).toEqual(CLAIMED);
    // Disabled without an erasure: what was answered 200 is worked.
    await tenantsAt(minutes(30)).disable('shops', 'acme');
    expect(await read(minutes(29))).toEqual(CLAIMED);
    await cron(minutes(45));
    expect(await sql('select body from webhooks.bodies')).toEqual([{ body: PERSONAL }]);
  });

  it('for a tenant that is only disabled, or that is not there any more, is claimed', async () => {
    await tenantsAt(NOW).disable('shops', 'acme');
    expect(await read(minutes(-1))).toEqual(CLAIMED);
    await sql('delete from webhooks.tenants');
    expect(await read(minutes(-1))).toEqual(CLAIMED);
  });
});
