import { beforeEach, expect, it } from 'vitest';
import { runAction } from '../../src/db/actions.ts';
import { claim } from '../../src/db/claim.ts';
import { recordEffectResults } from '../../src/db/effects.ts';
import { defineEffect, defineHandler, Effect } from '../../src/kit/index.ts';
import { MESSAGE_VERSION } from '../../src/queue/tickets.ts';
import { useDatabase, WAIT } from '../database.ts';
import { claimRequest } from '../new-event.ts';
import { consumeInNode, FakeMessage, hurried } from './in-node.ts';

const database = useDatabase();
const { sql } = database;

let payload: string;
const handler = defineHandler({ handle: () => [new Effect('post', payload, 'post')] });

/** The payloads that were sent. The call of one waits for `answer`, and takes a minute. */
let sent: string[];
let clock: number;
let answer: Promise<Response>;
const effects = {
  post: defineEffect<string>({
    send: (given) => {
      sent.push(given);
      clock += 60_000;
      return answer;
    },
  }),
};

const ticketOf = (name: string, deliveries = 1) =>
  new FakeMessage(name, deliveries, { version: MESSAGE_VERSION, source: 'test', eventId: 'a', name });
const work = () => consumeInNode([new FakeMessage('a')], handler, database.stack.workerUrls.consumer);
const send = () =>
  consumeInNode([ticketOf('post')], handler, database.stack.workerUrls.consumer, {
    queue: 'effects',
    effects,
    now: () => new Date(clock),
  });
const state = () => sql('select status, attempts, payload from webhooks.effects');

beforeEach(async () => {
  await sql('delete from webhooks.events');
  await claim(database.consumer, claimRequest(['a'], { receivedAt: new Date() }));
  payload = 'old';
  sent = [];
  clock = Date.now();
  answer = Promise.resolve(new Response());
  database.stack.neon.fault = undefined;
});

it('a call that was begun before a rerun does not close the effect that the rerun added, and the new payload is sent', async () => {
  await work();
  const { promise, resolve } = Promise.withResolvers<Response>();
  answer = promise;
  const oldCall = send();
  await expect.poll(() => sent, WAIT).toEqual(['old']);

  const by = { who: 'somebody', at: new Date(), sendEffectsAgain: true };
  await runAction(database.ops, { action: 'rerun', filter: { q: 'a' }, ...by });
  payload = 'new';
  await work();
  resolve(new Response());
  await oldCall;
  expect(await state()).toEqual([{ status: 'pending', attempts: 0, payload: '"new"' }]);

  answer = Promise.resolve(new Response());
  await send();
  expect(sent).toEqual(['old', 'new']);
  expect(await state()).toEqual([{ status: 'sent', attempts: 1, payload: '"new"' }]);
});

it('redelivered effects are sent alone, the most redelivered last, if the group in which they were begun never came back', async () => {
  await sql(
    `insert into webhooks.effects (source, event_id, name, kind, payload, due_at, not_before)
     select 'test', 'a', name, 'post', to_json(name)::text, now(), case when name = 'waits' then now() + interval '1 day' end
     from unnest($1::text[]) name`,
    [['a', 'b', 'c', 'd', 'waits']],
  );
  const begun = async () => {
    const rows = await sql<{ name: string }>('select name from webhooks.effects where begun_at is not null order by 1');
    return rows.map(({ name }) => name);
  };
  const group = (deliveries: Record<string, number>) =>
    consumeInNode(
      Object.entries(deliveries).map(([name, times]) => ticketOf(name, times)),
      handler,
      database.stack.workerUrls.consumer,
      { queue: 'effects', effects, effectMs: 2 ** 30 },
    );
  answer = new Promise(() => {});
  void group({ a: 2, b: 2, c: 2, waits: 2 });
  await expect.poll(() => sent.length, WAIT).toBe(3);
  expect(await begun()).toEqual(['a', 'b', 'c']);
  sent = [];
  answer = Promise.resolve(new Response());
  await group({ a: 9, b: 3, c: 5, d: 2 });
  expect(sent).toEqual(['d', 'b', 'c', 'a']);
  expect(await begun()).toEqual([]);
});

it('an effect whose result cannot be recorded at once is not sent again', async () => {
  await work();
  const died = { kind: 'connection died' } as const;
  const faults = [undefined, died, { kind: 'reply dropped' }, died] as const;
  let requests = 0;
  database.stack.neon.fault = () => faults[requests++];
  answer = Promise.resolve(new Response(null, { status: 409 }));
  await hurried(send);
  expect([sent, requests]).toEqual([['old'], 5]);
  // The second try was written although its answer was lost, and the fourth changes nothing.
  expect(await state()).toEqual([{ status: 'pending', attempts: 1, payload: '"old"' }]);
  // Its wait begins when the call has ended.
  expect(await sql('select not_before from webhooks.effects')).toEqual([{ not_before: new Date(clock + 3000) }]);
});

it('results of the same effects in opposite orders are recorded without a deadlock', async () => {
  const names = Array.from({ length: 200 }, (_, n) => `effect_${n}`);
  await sql(
    `insert into webhooks.effects (source, event_id, name, kind, payload, due_at)
     select 'test', 'a', name, 'post', '""', now() from unnest($1::text[]) name`,
    [names],
  );
  const rows = await sql<{ name: string; generation: string }>('select name, generation from webhooks.effects');
  const key = { source: 'test', eventId: 'a', attempts: 0 };
  const result = { status: 'pending', failure: 'response', error: 'no', notBefore: new Date() } as const;
  const results = rows.map((row) => ({ ...key, ...row, ...result }));
  await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      recordEffectResults(database.consumer, n % 2 === 0 ? results : results.toReversed(), new Date()),
    ),
  );
});
