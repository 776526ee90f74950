// What waits for the other side, and for its limits: in virtual time.
import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import { runAction } from '../../src/db/actions.ts';
import { claim } from '../../src/db/claim.ts';
import { pauseKind, resumeKind } from '../../src/db/pauses.ts';
import { currentState, defineEffect, defineHandler, errorFromResponse } from '../../src/kit/index.ts';
import { MESSAGE_VERSION } from '../../src/queue/tickets.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import {
  down,
  HOUR,
  ids,
  lastCall,
  MINUTE,
  mostPerSecond,
  OutsideWorld,
  post,
  SECOND,
  START,
  seconds,
  useOutages,
} from './outside-world.ts';

const { database, sql, statuses, pauses } = useOutages();

describe('an outage', () => {
  it('that lasts longer than pauseFor parks what has waited so long, after as many attempts as ever', async () => {
    const world = new OutsideWorld({
      database,
      start: START,
      effects: { mail: { ...post(), pauseFor: 2 * 3600 } },
      consumers: 4,
      answer: () => down(),
    });
    await world.addEffects('mail', ids(12), () => START);
    await world.workUntil(START + 2 * HOUR);
    expect(await statuses()).toEqual({ pending: 12 });
    await world.workUntil(START + 16 * HOUR);
    expect(await statuses()).toEqual({ parked: 12 });
    expect(await sql('select distinct attempts, failure from webhooks.effects')).toEqual([
      { attempts: 12, failure: 'response' },
    ]);
  }, 300_000);

  it('of one host holds up no other host of the same kind, and no other kind', async () => {
    const customers = defineEffect<string>({
      send: (payload, { key, fetch }) =>
        fetch(`https://${payload.split('_')[0]}.example.com/`, { headers: { 'idempotency-key': key } }),
    });
    const world = new OutsideWorld({
      database,
      start: START,
      effects: { hook: customers, mail: post('acme.example.com') },
      consumers: 2,
      answer: ({ url, at }) => (url.host.startsWith('acme') && at < START + HOUR ? down() : new Response()),
    });
    await world.addEffects('hook', [...ids(20, 'acme'), ...ids(20, 'other')], (n) => START + (n % 20) * MINUTE);
    await world.workUntil(START + 30 * MINUTE);
    expect(await statuses()).toEqual({ pending: 20, sent: 20 });
    expect(await pauses()).toMatchObject([{ kind: 'hook', host: 'acme.example.com', paused: true }]);
    await world.workUntil(START + 2 * HOUR);
    expect(await statuses()).toEqual({ sent: 40 });
  }, 300_000);
});

describe('what counts', () => {
  it('two effects that fail for a while wait for themselves, and go on soon after it', async () => {
    const world = new OutsideWorld({
      database,
      start: START,
      effects: { mail: post() },
      answer: ({ at }) => (at < START + 30 * SECOND ? down() : new Response()),
    });
    await world.addEffects('mail', ids(2), () => START);
    await world.workUntil(START + 20 * SECOND);
    expect(await pauses()).toMatchObject([{ paused: false }]);
    await world.workUntil(START + 80 * SECOND);
    expect(await statuses()).toEqual({ sent: 2 });
    expect(await pauses()).toEqual([{ kind: 'mail', host: 'mail.example.com', paused: false, backlog: false }]);
  });

  it('an effect that alone breaks their API is parked within hours, and holds up nobody', async () => {
    const world = new OutsideWorld({
      database,
      start: START,
      effects: { mail: post() },
      answer: ({ url }) => (url.pathname === '/bad' ? down(500) : new Response()),
    });
    await world.addEffects('mail', ['bad'], () => START);
    await world.addEffects('mail', ids(400), (n) => START + n * MINUTE);
    await world.workUntil(START + 7 * HOUR);
    expect(await statuses()).toEqual({ parked: 1, sent: 400 });
    const of = world.calls.filter(({ status }) => status === 500);
    // Those before the first success don't count.
    expect(of.length).toBeLessThan(20);
    expect(await sql(`select attempts from webhooks.effects where status = 'parked'`)).toEqual([{ attempts: 12 }]);
  }, 120_000);

  it('other failures count as ever: a conflict, an own error, and an answer that says no', async () => {
    const own = defineEffect<string>({ send: () => Promise.reject(new Error('no')) });
    const world = new OutsideWorld({
      database,
      start: START,
      effects: { own, mail: post() },
      answer: ({ url }) => down(url.pathname === '/conflict' ? 409 : 422),
    });
    await world.addEffects('own', ['own'], () => START);
    await world.addEffects('mail', ['conflict', 'no'], () => START);
    await world.workUntil(START + 16 * HOUR);
    expect(await sql('select event_id, status, attempts from webhooks.effects order by 1')).toEqual([
      { event_id: 'conflict', status: 'parked', attempts: 12 },
      { event_id: 'no', status: 'parked', attempts: 1 },
      { event_id: 'own', status: 'parked', attempts: 12 },
    ]);
    expect(await pauses()).toEqual([]);
  }, 120_000);
});

describe('Retry-After', () => {
  it('holds up the kind and host, for five minutes at most, and beyond that its own effect', async () => {
    const world = new OutsideWorld({
      database,
      start: START,
      effects: { mail: post() },
      answer: ({ url, at }) =>
        url.pathname === '/long' && at < START + HOUR
          ? down(429, { 'retry-after': '3600' })
          : url.pathname === '/short' && at < START + 2 * HOUR + MINUTE
            ? down(503, { 'retry-after': '60' })
            : new Response(),
    });
    await world.addEffects('mail', ['long'], () => START);
    await world.addEffects('mail', ids(5), () => START + MINUTE);
    await world.workUntil(START + 4 * MINUTE);
    expect(await statuses()).toEqual({ pending: 6 });
    await world.workUntil(START + 50 * MINUTE);
    expect(await statuses()).toEqual({ pending: 1, sent: 5 });
    await world.workUntil(START + 2 * HOUR - MINUTE);
    expect(await statuses()).toEqual({ sent: 6 });
    expect(world.calls.filter(({ key }) => key === world.calls[0]?.key).map(({ at }) => seconds(START, at))).toEqual([
      0, 3600,
    ]);
  }, 120_000);
});

describe('a limit', () => {
  it('per second is kept if effects come one by one', async () => {
    const world = new OutsideWorld({
      database,
      start: START,
      effects: { mail: { ...post(), limit: { perSecond: 4 } } },
      answer: () => new Response(),
    });
    await world.addEffects('mail', ids(40), (n) => START + n * 50);
    await world.workUntil(START + HOUR, { untilEmpty: true });
    expect(await statuses()).toEqual({ sent: 40 });
    expect(mostPerSecond(world.calls)).toBeLessThanOrEqual(8);
  });

  it('per second is kept over all consumers, from the first call on, and holds up no other kind', async () => {
    const world = new OutsideWorld({
      database,
      start: START,
      effects: { mail: { ...post(), limit: { perSecond: 4 } }, sms: post('sms.example.com') },
      consumers: 6,
      callMs: 20,
      answer: () => new Response(),
    });
    await world.addEffects('mail', ids(80), () => START);
    await world.addEffects('sms', ids(80, 'sms'), () => START);
    await world.addEffects('mail', ['late'], () => START + 5 * SECOND);
    await world.workUntil(START + HOUR, { untilEmpty: true });
    expect(await statuses()).toEqual({ sent: 161 });
    const [mail, sms] = ['mail', 'sms'].map((kind) => world.calls.filter(({ host }) => host === `${kind}.example.com`));
    // A call may begin after its turn.
    expect(mostPerSecond(mail ?? [])).toBeLessThanOrEqual(8);
    expect(lastCall(world)).toBeLessThan(START + 24 * SECOND);
    // It waits behind those that came before.
    expect(mail?.find(({ path }) => path === '/late')?.at).toBeGreaterThan(START + 18 * SECOND);
    expect(Math.max(...(sms ?? []).map(({ at }) => at))).toBeLessThan(START + 3 * SECOND);
    expect(world.deliveries).toBe(1);
  }, 120_000);

  it.each([0, 0.01])(
    'of one at a time is kept over all consumers, also if they are killed (%s)',
    async (killed) => {
      const world = new OutsideWorld({
        database,
        start: START,
        effects: { mail: { ...post(), limit: { atOnce: 1 } }, sms: post('sms.example.com') },
        consumers: 6,
        callMs: 50,
        killed,
        answer: () => new Response(),
      });
      await world.addEffects('mail', ids(100), () => START);
      await world.addEffects('sms', ids(100, 'sms'), () => START);
      await world.workUntil(START + 3 * HOUR);
      expect(await statuses()).toEqual({ sent: 200 });
      const times = world.calls.filter(({ host }) => host === 'mail.example.com').map(({ at }) => at);
      expect(times.every((time, n) => n === 0 || time - (times[n - 1] ?? 0) >= 50)).toBe(true);
      if (killed === 0) expect(Math.max(...times)).toBeLessThan(START + 30 * SECOND);
    },
    120_000,
  );
});

describe('events whose handlers ask somebody', () => {
  const asks = defineHandler({
    async handle({ id }, tools) {
      if (id.startsWith('plain')) {
        const error = errorFromResponse(await tools.fetch(`https://api.example.com/${id}`), tools.now);
        if (error) throw error;
      } else await currentState(tools, `https://api.example.com/${id}`, v.object({}));
      return [];
    },
  });
  const worldOf = (answer: ConstructorParameters<typeof OutsideWorld>[0]['answer']) =>
    new OutsideWorld({
      database,
      start: START,
      handlers: { test: { test: asks } },
      sources: { test: { types: ['test'] } },
      consumers: 2,
      answer,
    });
  const claimAll = async (world: OutsideWorld, names: readonly string[], every = 0, orderKey?: string) => {
    for (const [n, eventId] of names.entries()) {
      const at = START + n * every;
      const event = newEvent(eventId, orderKey === undefined ? {} : { orderKey, orderPlace: 0 });
      await claim(database.consumer, claimRequest([event], { receivedAt: new Date(at) }));
      world.waiting.events.push({ at, body: { version: MESSAGE_VERSION, source: 'test', eventId }, attempts: 1 });
    }
  };
  const events = async () => {
    const rows = await sql<{ status: string; n: number }>(
      'select status, count(*)::int as n from webhooks.events group by 1',
    );
    return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
  };

  it('an outage of a day parks none of them, and no ticket is returned to the queue', async () => {
    const end = START + 23 * HOUR;
    const world = worldOf(({ at }) => (at < end ? down(502) : Response.json({})));
    await claimAll(world, [...ids(3, 'state'), ...ids(3, 'plain')], MINUTE);
    await claimAll(world, ids(2, 'state_in_order'), MINUTE, 'one');
    await world.workUntil(end);
    expect(await events()).toEqual({ pending: 8 });
    expect(world.deliveries).toBe(1);
    expect(await sql('select distinct attempts, failure from webhooks.events order by 2')).toEqual([
      { attempts: 0, failure: 'response' },
      // Those that are behind another one of their order key.
      { attempts: 0, failure: null },
    ]);
    await world.workUntil(end + 2 * HOUR);
    expect(await events()).toEqual({ done: 8 });
  }, 300_000);

  it('one that alone breaks their API is parked within hours', async () => {
    const world = worldOf(({ url }) => (url.pathname === '/bad' ? down(500) : Response.json({})));
    await claimAll(world, ['bad', ...ids(120)], 3 * MINUTE);
    await world.workUntil(START + 10 * HOUR);
    expect(await events()).toEqual({ parked: 1, done: 120 });
  }, 120_000);
});

describe('an operator', () => {
  const worldOf = () =>
    new OutsideWorld({ database, start: START, effects: { mail: post() }, consumers: 2, answer: () => new Response() });
  const release = async (world: OutsideWorld, host?: string) => {
    for (const key of (await resumeKind(database.ops, { kind: 'mail', host }, 'resume', world.now())) ?? []) {
      world.addTicket(key.eventId);
    }
  };

  it.each([undefined, 'mail.example.com'])(
    'pauses a kind (host %s) until it is resumed, however long that takes, and a retry doesn’t lift the pause',
    async (host) => {
      const world = worldOf();
      await pauseKind(database.ops, { kind: 'mail', host }, 'ann', world.now());
      await world.addEffects('mail', ids(40), (n) => START + n * MINUTE);
      await sql(`update webhooks.effects set failing_since = $1`, [world.now()]);
      await world.workUntil(START + 30 * HOUR);
      world.addTicket('event_0');
      await world.workUntil(START + 30 * HOUR + MINUTE);
      expect(world.calls).toEqual([]);
      expect(await statuses()).toEqual({ pending: 40 });
      const retry = {
        action: 'retry',
        filter: { status: 'done' },
        who: 'ann',
        at: world.now(),
        sendEffectsAgain: false,
      } as const;
      await runAction(database.ops, retry);
      await world.workUntil(START + 31 * HOUR);
      expect(world.calls).toEqual([]);
      await release(world, host);
      await world.workUntil(START + 32 * HOUR, { untilEmpty: true });
      expect(await statuses()).toEqual({ sent: 40 });
      expect(lastCall(world)).toBeLessThan(START + 31 * HOUR + MINUTE);
      expect(await resumeKind(database.ops, { kind: 'mail', host }, 'resume', world.now())).toBeUndefined();
    },
    120_000,
  );

  it('keeps a pause although a call that was on its way succeeds', async () => {
    const world: OutsideWorld = new OutsideWorld({
      database,
      start: START,
      effects: { mail: post() },
      callMs: 1000,
      answer: () => {
        void pauseKind(database.ops, { kind: 'mail', host: 'mail.example.com' }, 'ann', world.now());
        return new Response();
      },
    });
    // So that the success is noted.
    const failing = `insert into webhooks.pauses (kind, host, failing, changed_at) values ('mail', 'mail.example.com', '{a}', $1)`;
    await sql(failing, [world.now()]);
    await world.addEffects('mail', ids(1), () => START);
    await world.workUntil(START + MINUTE);
    expect(await statuses()).toEqual({ sent: 1 });
    expect(await sql('select paused_by, ok_at is not null as ok from webhooks.pauses')).toEqual([
      { paused_by: 'ann', ok: true },
    ]);
    expect(await pauses()).toMatchObject([{ paused: true }]);
  });

  it('tries a call at once, of a pause that failures have set, and of no other', async () => {
    let isDown = true;
    const world = new OutsideWorld({
      database,
      start: START,
      effects: { mail: post() },
      answer: () => (isDown ? down() : new Response()),
    });
    await world.addEffects('mail', ids(10), () => START);
    await world.workUntil(START + HOUR + MINUTE);
    isDown = false;
    const [first] = (await resumeKind(database.ops, { kind: 'mail', host: undefined }, 'try', world.now())) ?? [];
    if (!first) throw new Error('nothing is tried');
    world.addTicket(first.eventId);
    const before = world.clock;
    await world.workUntil(START + 2 * HOUR);
    expect(await statuses()).toEqual({ sent: 10 });
    // One of them has the ticket of the next probe already.
    const quick = world.calls.filter(({ at, status }) => status === 200 && at < before + 10 * SECOND);
    expect(quick.length).toBeGreaterThanOrEqual(9);
    await pauseKind(database.ops, { kind: 'mail', host: undefined }, 'ann', world.now());
    expect(await resumeKind(database.ops, { kind: 'mail', host: undefined }, 'try', world.now())).toBeUndefined();
  }, 120_000);
});

it('an effect that expires while its kind is paused is cancelled, and not sent', async () => {
  const world = new OutsideWorld({
    database,
    start: START,
    effects: { mail: { ...post(), expiresAfter: 600 } },
    answer: ({ at }) => (at < START + 30 * MINUTE ? down() : new Response()),
  });
  await world.addEffects('mail', ids(8), () => START);
  await world.addEffects('mail', ids(3, 'late'), () => START + 29 * MINUTE);
  await world.workUntil(START + HOUR);
  expect(await statuses()).toEqual({ cancelled: 8, sent: 3 });
  expect(await sql(`select distinct last_error from webhooks.effects where status = 'cancelled'`)).toEqual([
    { last_error: 'expired: it could not be sent within 600 s' },
  ]);
}, 120_000);

it('a success while nothing has failed writes nothing', async () => {
  const world = new OutsideWorld({ database, start: START, effects: { mail: post() }, answer: () => new Response() });
  await world.addEffects('mail', ids(12), () => START);
  await world.workUntil(START + MINUTE);
  expect(await statuses()).toEqual({ sent: 12 });
  expect(await pauses()).toEqual([]);
});
