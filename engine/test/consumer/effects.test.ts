import { sql } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { takeOverdue } from '../../src/db/sweep.ts';
import type { RETURNED } from './handlers.ts';
import {
  consume,
  database,
  effectTicket,
  empty,
  events,
  holdBackEffects,
  logged,
  QUEUES,
  query,
  waitsAreOver,
} from './in-workerd.ts';
import { limits } from './worker.ts';

const QUEUE = QUEUES.effects;
const effects = () =>
  query(sql`select name, status, attempts, failure, last_error from webhooks.effects order by name`);
const sent = (name: string) => ({ name, status: 'sent', attempts: 1, failure: null, last_error: null });

beforeEach(empty);

it('the effects of an event, which its summary names, are sent once, each with a line that has its key, and one whose kind no longer exists is parked', async () => {
  await holdBackEffects('has effects');
  expect(await query(sql`select status, summary from webhooks.events`)).toEqual([
    { status: 'done', summary: '0 changes, first, second, gone' },
  ]);
  const tickets = ['held first', 'held second', 'held gone', 'unknown', 'held first'].map(effectTicket);
  const lines = await logged(async () => {
    expect((await consume(tickets, QUEUE)).acked).toEqual(['0', '1', '2', '3', '4']);
  });
  const keys = lines.map(({ idempotency_key }) => idempotency_key);
  expect(keys).toEqual(keys.map(() => expect.stringMatching(/^[0-9a-f]{64}$/)));
  expect([lines.length, new Set(keys).size]).toEqual([3, 3]);
  const last_error = 'PermanentError: there is no effect constructor in src/effects';
  const expected = [
    sent('held first'),
    { name: 'held gone', status: 'parked', attempts: 1, failure: 'no_handler', last_error },
    sent('held second'),
  ];
  expect(await effects()).toEqual(expected);
  // There is a line for every call to the outside.
  expect(await logged(() => consume(tickets, QUEUE))).toEqual([]);
  expect(await effects()).toEqual(expected);
});

// Which answer is what: engine/test/kit.
it.each([
  [204, { acked: ['0'], status: 'sent', failure: null }],
  [422, { acked: ['0'], status: 'parked', failure: 'response' }],
  // Its ticket is acknowledged, and it gets another one.
  [502, { acked: ['0'], status: 'pending', attempts: 0, failure: 'response' }],
  [409, { acked: [], status: 'pending', attempts: 1, failure: 'response' }],
])('an effect that is answered %i is %j', async (status, expected) => {
  await holdBackEffects('has an effect answered', { status });
  const { acked } = await consume([effectTicket('held answers')], QUEUE);
  expect([{ acked, ...(await effects())[0] }]).toMatchObject([expected]);
  const waits = await query(sql`select name from webhooks.effects where not_before is not null`);
  expect(waits).toHaveLength(expected.status === 'pending' ? 1 : 0);
});

it('an effect whose other side cannot be reached waits without an attempt, and its event stays done', async () => {
  await holdBackEffects('has an effect not reached');
  const name = 'held is not reached';
  await query(sql`update webhooks.effects set attempts = 11`);
  const lines = await logged(async () => {
    expect((await consume([effectTicket(name)], QUEUE)).acked).toEqual(['0']);
  });
  expect(lines).toMatchObject([{ step: 'effect', outcome: 'waiting', reason: '127.0.0.1:9 could not be reached' }]);
  expect(await effects()).toMatchObject([{ name, status: 'pending', attempts: 11, failure: 'handler' }]);
  expect(await events()).toEqual([expect.objectContaining({ status: 'done', attempts: 1 })]);
});

it('an effect that fails by itself is tried twelve times', async () => {
  await holdBackEffects('has an effect that throws');
  const name = 'held throws';
  await query(sql`update webhooks.effects set attempts = 10`);
  expect((await consume([effectTicket(name)], QUEUE)).retried).toHaveLength(1);
  await waitsAreOver();
  expect((await consume([effectTicket(name)], QUEUE)).acked).toEqual(['0']);
  expect(await effects()).toEqual([
    { name, status: 'parked', attempts: 12, failure: 'handler', last_error: 'TypeError: it broke' },
  ]);
});

it.each([
  ['never gets an answer', 'hangs', []],
  ['is aborted at its time limit', 'is aborted', [{ aborted: 'the effect took longer than 0.2 s' }]],
])('an effect that %s is tried again, and the log says why', async (_what, kind, aborted) => {
  await holdBackEffects(`has an effect that ${kind}`);
  limits.ms = 200;
  const lines = await logged(() => consume([effectTicket(`held ${kind}`)], QUEUE));
  expect(lines.slice(0, -1)).toEqual(aborted);
  expect(lines.at(-1)).toMatchObject({ step: 'effect', outcome: 'retry', failure: 'time_limit', reason: 'Error' });
  const last_error = 'Error: the effect took longer than 0.2 s';
  expect(await effects()).toEqual([
    { name: `held ${kind}`, status: 'pending', attempts: 1, failure: 'time_limit', last_error },
  ]);
});

it('three forged tickets and five sweeps of an effect that was told to wait send nothing and count no attempt, until the wait is over', async () => {
  await holdBackEffects('has an effect answered', { status: 503, headers: { 'retry-after': '3600' } });
  const forged = { body: { ...effectTicket('held answers').body, kind: 'returns', payload: '{}' } };
  await consume([forged], QUEUE);
  // There is a line for every call to the outside.
  const lines = await logged(async () => {
    for (let n = 0; n < 8; n++) {
      await query(sql`update webhooks.effects set due_at = now() - interval '1 second'`);
      const tickets = n < 3 ? [forged] : (await takeOverdue(database(), new Date())).effects;
      expect(tickets).toHaveLength(1);
      const { acked, retried } = await consume([n < 3 ? forged : effectTicket('held answers')], QUEUE);
      expect([acked, retried.length]).toEqual([[], 1]);
      expect(retried[0]?.delaySeconds).toBeGreaterThan(3500);
    }
  });
  expect(lines).toEqual([]);
  expect(await effects()).toEqual([expect.objectContaining({ status: 'pending', attempts: 0 })]);

  await waitsAreOver();
  await query(sql`delete from webhooks.pauses`);
  expect(await logged(() => consume([effectTicket('held answers')], QUEUE))).toMatchObject([
    { step: 'effect', outcome: 'waiting', failure: 'response', reason: 'the other side answered 503' },
    { step: 'pause', outcome: 'paused', kind: 'answers' },
  ]);
  expect(await effects()).toEqual([expect.objectContaining({ status: 'pending', attempts: 0 })]);
});

describe('what an effect returns', () => {
  const returned = async (what: keyof typeof RETURNED) => {
    await holdBackEffects('has an effect that returns', { what });
    await consume([effectTicket('held returns')], QUEUE);
    return (await effects())[0];
  };

  it.each([
    ['nothing', 'undefined'],
    ['nothing, and no promise', 'undefined'],
    ['null', 'null'],
    ['a text', 'a string'],
    ['a status', 'an object (Object)'],
    ['the JSON of an answer', 'an object (Object)'],
    ['several answers', 'an array'],
  ] as const)('an effect that returns %s is parked at once, and its error says what to return', async (what, kind) => {
    const last_error = `PermanentError: effect returns returned ${kind}: return the Response of fetch`;
    expect(await returned(what)).toMatchObject({ status: 'parked', attempts: 1, failure: 'changes', last_error });
  });

  it.each(['a Response of a library', 'a Response with a reader on it', 'a Response that is read'] as const)(
    'an effect that returns %s is sent',
    async (what) => {
      expect(await returned(what)).toEqual(sent('held returns'));
    },
  );

  it('a body that nobody reads is cancelled, because an open one keeps its connection', async () => {
    const lines = await logged(() => returned('a Response with a body'));
    expect(lines).toContainEqual({ cancelled: true });
  });
});

it('an effect gets its payload as its schema returns it, and one with a payload that does not match is parked with the path', async () => {
  await holdBackEffects('has an effect with a schema');
  await consume([effectTicket('held has a schema')], QUEUE);
  expect(await effects()).toEqual([sent('held has a schema')]);

  // As a version of the app wrote it that knew another payload.
  const payload = JSON.stringify({ to: { address: 'canary' } });
  await query(sql`update webhooks.effects set payload = ${payload}, status = 'pending', attempts = 0`);
  await consume([effectTicket('held has a schema')], QUEUE);
  const last_error = 'PermanentError: the stored payload does not match the schema of effect has a schema at to';
  expect(await effects()).toMatchObject([{ status: 'parked', attempts: 1, failure: 'schema', last_error }]);
});
