// Effects that are sent later, and that are taken back.
import { beforeEach, describe, expect, it } from 'vitest';
import { runAction } from '../../src/db/actions.ts';
import { takeAlerts } from '../../src/db/alerts.ts';
import { claim } from '../../src/db/claim.ts';
import { loadMetrics, loadStatus } from '../../src/db/status.ts';
import { prune, takeOverdue } from '../../src/db/sweep.ts';
import { Cancel, type Change, defineHandler, Effect } from '../../src/kit/index.ts';
import { MESSAGE_VERSION } from '../../src/queue/tickets.ts';
import { useDatabase } from '../database.ts';
import { FakeQueue } from '../fake-queue.ts';
import { claimRequest } from '../new-event.ts';
import { consumeInNode, FakeMessage } from './in-node.ts';

const database = useDatabase();
const { sql } = database;

const START = Date.parse('2026-03-01T12:00:00Z');
const MINUTE = 60;
const DAY = 86_400;
let clock: number;
const now = () => new Date(clock);
const pass = (seconds: number) => {
  clock += seconds * 1000;
};

/** The payloads that were sent. */
let sent: unknown[];
let during: () => Promise<unknown>;
const effects = {
  mail: {
    send: async (payload: never) => {
      sent.push(payload);
      await during();
      return new Response();
    },
  },
};

beforeEach(async () => {
  await sql('delete from webhooks.events; delete from webhooks.cancellations; delete from webhooks.alerts');
  clock = START;
  sent = [];
  during = async () => {};
});

/** Works an event whose handler returns these changes. Returns the delays of the tickets of its effects. */
async function work(id: string, changes: Change[], source = 'test'): Promise<readonly number[]> {
  await claim(database.receiver, claimRequest([id], { receivedAt: now(), source }));
  const queue = new FakeQueue();
  const handler = defineHandler({ handle: () => changes });
  const message = new FakeMessage(id, 1, { version: MESSAGE_VERSION, source, eventId: id });
  await consumeInNode([message], handler, database.stack.workerUrls.consumer, { now, sent: queue });
  return queue.delays;
}

const mail = (options: Effect['options'], name = 'mail') => new Effect('mail', name, name, options);

/** Delivers the ticket of an effect. Returns what became of it: acknowledged, or the seconds after which it comes again. */
async function deliver(eventId: string, name = 'mail') {
  const message = new FakeMessage('ticket', 1, { version: MESSAGE_VERSION, source: 'test', eventId, name });
  const handler = defineHandler({ handle: () => [] });
  await consumeInNode([message], handler, database.stack.workerUrls.consumer, { queue: 'effects', effects, now });
  return message.settled;
}

const rows = () =>
  sql<{ name: string; status: string; attempts: number }>(
    'select name, status, attempts from webhooks.effects order by event_id, name',
  );
const swept = async () => (await takeOverdue(database.consumer, now())).effects.map(({ name }) => name);

describe('an effect for later', () => {
  it.each<[string, Effect['options']]>([
    ['in seconds', { after: 90 }],
    ['as a time', { at: new Date(START + 90_000) }],
  ])('is sent at its time and not before, given %s', async (_how, options) => {
    expect(await work('a', [mail(options)])).toEqual([90]);
    expect(await deliver('a')).toBe(90);
    pass(80);
    expect([await deliver('a'), sent]).toEqual([10, []]);
    pass(10);
    expect([await deliver('a'), sent]).toEqual(['acked', ['mail']]);
    expect(await rows()).toEqual([{ name: 'mail', status: 'sent', attempts: 1 }]);
  });

  it('is sent at once if its time has passed', async () => {
    expect(await work('a', [mail({ at: new Date(START - 1000) })])).toEqual([0]);
    await deliver('a');
    expect(sent).toEqual(['mail']);
  });

  it('whose ticket is lost is sent by the sweep after its time', async () => {
    await work('a', [mail({ after: DAY })]);
    pass(DAY);
    expect(await swept()).toEqual([]);
    pass(10 * MINUTE);
    expect(await swept()).toEqual(['mail']);
  });

  it('that is days away gets its ticket shortly before, by the sweep, and only one', async () => {
    expect(await work('a', [mail({ after: 30 * DAY })])).toEqual([]);
    pass(30 * DAY - 21 * MINUTE);
    expect(await swept()).toEqual([]);
    pass(MINUTE);
    expect(await swept()).toEqual(['mail']);
    expect(await deliver('a')).toBe(20 * MINUTE);
    pass(15 * MINUTE);
    expect(await swept()).toEqual([]);
    pass(5 * MINUTE);
    expect([await deliver('a'), sent]).toEqual(['acked', ['mail']]);
    pass(DAY);
    expect(await swept()).toEqual([]);
  });

  it('gets another ticket if that one is lost', async () => {
    await work('a', [mail({ after: 30 * DAY })]);
    pass(30 * DAY - MINUTE);
    expect(await swept()).toEqual(['mail']);
    pass(15 * MINUTE);
    expect(await swept()).toEqual(['mail']);
  });

  it('keeps its event from being pruned', async () => {
    await work('a', [mail({ after: 30 * DAY })]);
    pass(29 * DAY);
    await prune(database.consumer, now(), 1, 1);
    expect(await rows()).toHaveLength(1);
  });

  it('is not sent early by a retry of what has failed beside it', async () => {
    await work('a', [mail({ after: DAY }), mail({}, 'parked')]);
    await sql(`update webhooks.effects set status = 'parked' where name = 'parked'`);
    const retry = { action: 'retry', sendEffectsAgain: false, who: 'somebody', at: now() } as const;
    const result = await runAction(database.ops, { ...retry, filter: { source: 'test', q: 'a' } });
    expect(result).toMatchObject({ effectKeys: [{ name: 'parked' }] });
    expect(await deliver('a')).toBe(DAY);
  });

  it('is no cause for an alert, and not pending in the figures, until its time has passed', async () => {
    await work('a', [mail({ after: DAY })]);
    const alerts = async () => {
      await takeAlerts(database.consumer, now(), 30);
      return (await takeAlerts(database.consumer, now(), 30)).map(({ condition }) => condition);
    };
    const figures = async () => {
      const metrics = await loadMetrics(database.ops, now());
      const { effects, effect_kinds } = await loadStatus(database.ops, [], now());
      expect(effect_kinds).toMatchObject([{ pending: effects.pending, later: effects.later }]);
      return {
        pending: effects.pending,
        later: effects.later,
        metrics: Object.fromEntries(metrics.map(({ name, label, value }) => [label ?? name, value])),
        oldest: effects.oldest_pending_at,
      };
    };
    pass(DAY - 1);
    expect(await alerts()).toEqual([]);
    expect(await figures()).toMatchObject({ pending: 0, later: 1, metrics: { pending: 0, later: 1 }, oldest: null });
    pass(31 * MINUTE);
    expect(await alerts()).toEqual(['pending']);
    expect(await figures()).toMatchObject({
      pending: 1,
      later: 0,
      metrics: { pending: 1, oldest_pending_effect_at: START / 1000 + DAY },
      oldest: new Date(START + DAY * 1000).toISOString(),
    });
  });
});

describe('an effect that is cancelled', () => {
  it('is not sent', async () => {
    await work('a', [mail({ after: 60, key: 'trial' })]);
    await work('b', [new Cancel('mail', 'trial')]);
    expect(await rows()).toEqual([{ name: 'mail', status: 'cancelled', attempts: 0 }]);
    pass(60);
    expect([await deliver('a'), sent]).toEqual(['acked', []]);
    expect(await sql(`select summary from webhooks.events where event_id = 'b'`)).toEqual([
      { summary: '0 changes, cancels mail' },
    ]);
  });

  it('is not sent if it is added only later', async () => {
    await work('b', [new Cancel('mail', 'trial')]);
    await work('a', [mail({ after: 60, key: 'trial' })]);
    pass(60);
    expect([await deliver('a'), sent, await rows()]).toEqual([
      'acked',
      [],
      [{ name: 'mail', status: 'cancelled', attempts: 0 }],
    ]);
  });

  it('is not sent if both events are worked at the same moment', async () => {
    const numbers = Array.from({ length: 20 }, (_, n) => n);
    await Promise.all(
      numbers.flatMap((n) => [
        work(`a${n}`, [mail({ after: 60, key: `trial ${n}` })]),
        work(`b${n}`, [new Cancel('mail', `trial ${n}`)]),
      ]),
    );
    pass(60);
    for (const n of numbers) await deliver(`a${n}`);
    expect([sent, (await rows()).filter(({ status }) => status !== 'cancelled')]).toEqual([[], []]);
  });

  it('is the one with this key, of this kind and this source', async () => {
    await work('a', [
      mail({ after: 60, key: 'one' }),
      mail({ after: 60, key: 'other' }, 'other'),
      mail({ after: 60 }, 'none'),
    ]);
    await work('b', [new Cancel('mail', 'one')], 'other');
    await work('c', [new Cancel('letter', 'one'), new Cancel('mail', 'another')]);
    pass(60);
    for (const name of ['mail', 'other', 'none']) await deliver('a', name);
    expect(sent).toEqual(['mail', 'other', 'none']);
  });

  it('may be parked, and a retry does not send it then', async () => {
    await work('a', [mail({ key: 'trial' })]);
    await sql(`update webhooks.effects set status = 'parked'`);
    await work('b', [new Cancel('mail', 'trial'), new Cancel('mail', 'trial')]);
    const retry = { action: 'retry', sendEffectsAgain: false, who: 'somebody', at: now() } as const;
    expect(await runAction(database.ops, { ...retry, filter: { source: 'test', q: 'a' } })).toMatchObject({
      effects: 0,
    });
    expect(await rows()).toMatchObject([{ status: 'cancelled' }]);
  });

  it('while its call is on its way is sent, and known as sent', async () => {
    await work('a', [mail({ key: 'trial' })]);
    during = () => work('b', [new Cancel('mail', 'trial')]);
    await deliver('a');
    expect(await rows()).toEqual([{ name: 'mail', status: 'sent', attempts: 1 }]);
  });

  it('has a mark that is pruned with the keys, but not as long as it is to be sent', async () => {
    await work('b', [new Cancel('mail', 'old'), new Cancel('mail', 'trial')]);
    await work('a', [mail({ after: 20 * DAY, key: 'trial' })]);
    const marks = async () =>
      (await sql<{ key: string }>('select cancel_key as key from webhooks.cancellations')).length;
    const pruned = async (days: number) => {
      clock = START + days * DAY * 1000;
      await prune(database.consumer, now(), 10, 10);
      return marks();
    };
    expect([await pruned(9), await pruned(11)]).toEqual([2, 1]);
    pass(9 * DAY);
    await deliver('a');
    expect([sent, await pruned(21)]).toEqual([[], 0]);
  });
});

it('of two events that give effects one key, the second is parked and says why', async () => {
  await work('a', [mail({ after: 60, key: 'trial' })]);
  await work('b', [mail({ after: 60, key: 'trial' }, 'another name')]);
  expect(await sql('select event_id, status, last_error, failure from webhooks.events order by 1')).toEqual([
    { event_id: 'a', status: 'done', last_error: null, failure: null },
    {
      event_id: 'b',
      status: 'parked',
      last_error:
        'PermanentError: another effect of this kind and source has the key of this one: give each a key of its own',
      failure: 'changes',
    },
  ]);
  expect(await rows()).toHaveLength(1);
});

it('an event that runs again keeps the effect that has its key', async () => {
  await work('a', [mail({ after: 60, key: 'trial' })]);
  const rerun = { action: 'rerun', sendEffectsAgain: false, who: 'somebody', at: now() } as const;
  await runAction(database.ops, { ...rerun, filter: { source: 'test', q: 'a' } });
  await work('a', [mail({ after: 600, key: 'trial' })]);
  expect(await sql(`select status, attempts from webhooks.events`)).toEqual([{ status: 'done', attempts: 1 }]);
  pass(60);
  await deliver('a');
  expect(sent).toEqual(['mail']);
});
