import { sql as statement } from 'drizzle-orm';
import fc from 'fast-check';
import * as v from 'valibot';
import { expect, it } from 'vitest';
import { claim } from '../../src/db/claim.ts';
import type { EffectKey } from '../../src/db/keys.ts';
import { defineHandler, Effect, PermanentError, RetryLater } from '../../src/kit/index.ts';
import { pack } from '../../src/queue/forwarded.ts';
import { MESSAGE_VERSION } from '../../src/queue/tickets.ts';
import type { LogLine } from '../../src/shared/log.ts';
import { useDatabase } from '../database.ts';
import { FakeQueue } from '../fake-queue.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import { RUNS } from '../pure/generators.ts';
import { consumeInNode, FakeMessage } from './in-node.ts';

const database = useDatabase();
const { sql } = database;

const A_DAY = 86_400;

/** What becomes of an event: its row, and after how many seconds its ticket comes back. 0: it is acknowledged. */
const FATES = {
  done: [{ status: 'done', attempts: 1, failure: null, effects: 1 }, 0],
  'failed before': [{ status: 'done', attempts: 2, failure: null, effects: 1 }, 0],
  unwanted: [{ status: 'ignored', attempts: 1, failure: null, effects: 0 }, 0],
  'parked before': [{ status: 'parked', attempts: 0, failure: 'handler', effects: 0 }, 0],
  'done before': [{ status: 'done', attempts: 1, failure: null, effects: 0 }, 0],
  waits: [{ status: 'pending', attempts: 0, failure: null, effects: 0 }, A_DAY],
  // `random` is 0.5, so the first wait is half of five seconds.
  throws: [{ status: 'pending', attempts: 1, failure: 'handler', effects: 0 }, 3],
  'asks for time': [{ status: 'pending', attempts: 1, failure: 'retry_later', effects: 0 }, 90],
  'is given up': [{ status: 'parked', attempts: 1, failure: 'permanent', effects: 0 }, 0],
  'breaks a constraint': [{ status: 'pending', attempts: 1, failure: 'database', effects: 0 }, 3],
  'repeats an effect': [{ status: 'parked', attempts: 1, failure: 'changes', effects: 0 }, 0],
  'has another shape': [{ status: 'parked', attempts: 1, failure: 'schema', effects: 0 }, 0],
  'lost its body': [{ status: 'parked', attempts: 0, failure: 'body_gone', effects: 0 }, 0],
  unknown: [undefined, 0],
} as const;
type Fate = keyof typeof FATES;

const handler = defineHandler({
  schema: v.object({ fate: v.string() }),
  handle({ source, id, data: { fate } }, { db }) {
    const added = db.execute(statement`insert into fixture.balances values (${`${source} ${id}`}, 1)`);
    const effect = new Effect('post', {}, 'post');
    if (fate === 'throws') throw new TypeError('no');
    if (fate === 'asks for time') throw new RetryLater(90);
    if (fate === 'is given up') throw new PermanentError('no');
    if (fate === 'breaks a constraint') return [added, effect, added];
    return fate === 'repeats an effect' ? [added, effect, effect] : [added, effect];
  },
});

interface Made {
  readonly source: string;
  readonly id: string;
  readonly fate: Fate;
}

const columns = 'source, event_id as id, status, attempts, failure';

/** A delivery of these events of one source. */
function deliveryOf(made: readonly Made[]) {
  const events = made.map(({ id, fate }) => {
    const body = JSON.stringify(fate === 'has another shape' ? {} : { fate });
    return newEvent(id, { type: fate === 'unwanted' ? 'other' : 'test', body });
  });
  return claimRequest(events, { source: made[0]?.source ?? '', receivedAt: new Date() });
}

async function make(one: Made): Promise<void> {
  const { source, id, fate } = one;
  if (fate === 'unknown') return;
  await claim(database.receiver, deliveryOf([one]));
  const set = {
    'failed before': `attempts = 1`,
    'parked before': `status = 'parked', failure = 'handler'`,
    'done before': `status = 'done', completions = 1, attempts = 1`,
    waits: `not_before = now() + interval '1 day'`,
  }[fate as string];
  if (set) await sql(`update webhooks.events set ${set} where (source, event_id) = ($1, $2)`, [source, id]);
  if (fate === 'lost its body') {
    await sql(`delete from webhooks.bodies where (source, event_id) = ($1, $2)`, [source, id]);
  }
}

/** The ticket of an event, or a forwarded delivery of all that are known. */
async function messageOf([first, ...others]: readonly Made[]): Promise<FakeMessage> {
  const { source = '', id = '' } = first ?? {};
  if (!first || others.length === 0) return new FakeMessage(id, 1, { version: MESSAGE_VERSION, source, eventId: id });
  return new FakeMessage(id, 1, await pack(deliveryOf([first, ...others])));
}

it('whatever becomes of the other events of its message and of its batch, each event and each message gets what is its own', async () => {
  const made = fc.uniqueArray(
    fc.record({
      source: fc.constantFrom('test', 'other'),
      id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
      fate: fc.constantFrom(...(Object.keys(FATES) as Fate[])),
    }),
    { selector: ({ source, id }) => `${source} ${id}`, minLength: 1 },
  );
  const batch = made.chain((all) => {
    const message = fc.constantFrom(...all).chain((one) => {
      const known = one.fate === 'unknown' ? [] : all.filter(({ fate }) => fate !== 'unknown');
      const others = known.filter((other) => other !== one && other.source === one.source);
      return fc.subarray(others).map((some) => [one, ...some]);
    });
    return fc.tuple(fc.constant(all), fc.array(message, { minLength: 1, maxLength: 8 }));
  });
  await fc.assert(
    fc.asyncProperty(batch, async ([all, contents]) => {
      await sql('delete from webhooks.events; delete from fixture.balances');
      await Promise.all(all.map(make));
      const messages = await Promise.all(contents.map(messageOf));
      const sent = new FakeQueue();
      // A message that is looked at twice waits for as long as the first time.
      const now = new Date();
      await consumeInNode(messages, handler, database.stack.workerUrls.consumer, { sent, now: () => now });

      const settled = messages.map(({ settled: as }) => (as === 'acked' ? 0 : Number(as) > 80_000 ? A_DAY : as));
      // A message comes back after the longest wait of its events.
      expect(settled).toEqual(contents.map((those) => Math.max(...those.map(({ fate }) => FATES[fate][1]))));
      const order = ({ source, id }: Pick<Made, 'source' | 'id'>) => `${source} ${id}`;
      const worked = all.filter((one) => contents.flat().includes(one) && FATES[one.fate][0] !== undefined);
      const expected = worked.map(({ source, id, fate }) => ({ source, id, ...FATES[fate][0] }));
      const rows = await sql<Made>(
        `select ${columns}, (select count(*)::int from webhooks.effects where (source, event_id) = (event.source, event.event_id)) as effects
         from webhooks.events event order by 1, 2`,
      );
      expect(rows.filter((row) => worked.some((one) => order(one) === order(row)))).toEqual(
        expected.toSorted((a, b) => (order(a) < order(b) ? -1 : 1)),
      );
      const done = worked.filter(({ fate }) => fate === 'done' || fate === 'failed before');
      expect(await sql('select customer from fixture.balances order by 1')).toEqual(
        done.map((one) => ({ customer: order(one) })).toSorted((a, b) => (a.customer < b.customer ? -1 : 1)),
      );
      const keyOf = ({ source, eventId, name }: EffectKey) => `${source} ${eventId} ${name}`;
      expect((sent.tickets as EffectKey[]).map(keyOf).sort()).toEqual(done.map((one) => `${order(one)} post`).sort());
    }),
    { ...RUNS, numRuns: 40 },
  );
});

it('a forwarded delivery of many events whose handlers are slow comes back for those that it had no time to begin', async () => {
  await sql('delete from webhooks.events');
  let time = 0;
  const slow = defineHandler({
    async handle() {
      time += 7000;
      return [];
    },
  });
  const ids = Array.from({ length: 120 }, (_, n) => `e${n}`);
  const message = new FakeMessage('a', 1, await pack(claimRequest(ids, { receivedAt: new Date() })));
  await consumeInNode([message], slow, database.stack.workerUrls.consumer, { now: () => new Date(time) });
  expect(await sql('select status, count(*)::int from webhooks.events group by 1 order by 1')).toEqual([
    { status: 'done', count: 100 },
    { status: 'pending', count: 20 },
  ]);
  expect(message.settled).toBe(1);
});

it('the messages of a queue that no variable names are kept, and the log names the queue', async () => {
  const lines: LogLine[] = [];
  const message = new FakeMessage('a');
  await consumeInNode([message], handler, database.stack.workerUrls.consumer, { queue: 'another', lines });
  expect(lines).toEqual([{ step: 'configuration', outcome: 'unknown_queue', queue: 'another' }]);
  expect(message.settled).toBe(3600);
});
