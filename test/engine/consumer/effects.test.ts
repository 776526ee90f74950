import { sql } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { takeOverdue } from '../../../src/db/sweep.ts';
import type { RETURNED } from './handlers.ts';
import {
  claimEvents,
  consume,
  database,
  effectTicket,
  empty,
  events,
  holdBackEffects,
  logged,
  QUEUES,
  query,
  ticket,
  waitsAreOver,
} from './in-workerd.ts';

const QUEUE = QUEUES.effects;
const effects = () =>
  query(sql`select name, status, attempts, failure, last_error from webhooks.effects order by name`);
const sent = (name: string) => ({ name, status: 'sent', attempts: 1, failure: null, last_error: null });

beforeEach(empty);

it('an event’s effects are committed with its completion, and its summary names them', async () => {
  await claimEvents({ id: 'a', type: 'has effects' });
  await consume([ticket('a')]);
  expect(await query(sql`select status, summary from webhooks.events`)).toEqual([
    { status: 'done', summary: '0 changes, first, second, gone' },
  ]);
  expect((await effects()).map(({ name }) => name)).toEqual(['first', 'gone', 'second']);
});

it('effects are sent, and an effect whose kind no longer exists is parked', async () => {
  await holdBackEffects('has effects');
  const names = ['held first', 'held second', 'held gone'];
  expect(
    (
      await consume(
        names.map((name) => effectTicket(name)),
        QUEUE,
      )
    ).acked,
  ).toEqual(['0', '1', '2']);
  expect(await effects()).toEqual([
    sent('held first'),
    {
      name: 'held gone',
      status: 'parked',
      attempts: 1,
      failure: 'no_handler',
      last_error: 'PermanentError: there is no effect of a kind that is gone in src/app/effects',
    },
    sent('held second'),
  ]);
});

it('a second ticket of an effect that is sent sends nothing', async () => {
  await holdBackEffects('has effects');
  await consume([effectTicket('held first')], QUEUE);
  const lines = await logged(() => consume([effectTicket('held first'), effectTicket('held first')], QUEUE));
  // There is a line for every call to the outside.
  expect(lines).toEqual([]);
  expect(await effects()).toContainEqual(sent('held first'));
});

describe('answers of the other side', () => {
  const answered = async (status: number, headers: Record<string, string> = {}) => {
    await holdBackEffects('has an effect answered', { status, headers });
    const { retried } = await consume([effectTicket('held answers')], QUEUE);
    const [effect] = await effects();
    return { delaySeconds: retried[0]?.delaySeconds, status: effect?.status, failure: effect?.failure };
  };

  it.each([200, 201, 204])('an effect that is answered %i is sent', async (status) => {
    expect(await answered(status)).toEqual({ delaySeconds: undefined, status: 'sent', failure: null });
  });

  it.each([400, 401, 403, 404, 410, 422])('an effect that is answered %i is parked at once', async (status) => {
    expect(await answered(status)).toEqual({ delaySeconds: undefined, status: 'parked', failure: 'response' });
  });

  it.each([408, 409, 425, 429, 500, 502, 503])('an effect that is answered %i is tried again', async (status) => {
    const { delaySeconds, ...effect } = await answered(status);
    expect(effect).toEqual({ status: 'pending', failure: 'response' });
    expect(delaySeconds).toBeGreaterThanOrEqual(1);
    expect(delaySeconds).toBeLessThanOrEqual(5);
  });

  it.each([429, 503])(
    'an effect that is answered %i with Retry-After is tried again after that time',
    async (status) => {
      const expected = { delaySeconds: 120, status: 'pending', failure: 'response' };
      expect(await answered(status, { 'retry-after': '120' })).toEqual(expected);
    },
  );

  it('an effect that is answered with an endless Retry-After is tried again after the usual wait', async () => {
    const { delaySeconds, status } = await answered(503, { 'retry-after': '9'.repeat(400) });
    expect([status, typeof delaySeconds]).toEqual(['pending', 'number']);
    expect(delaySeconds).toBeLessThanOrEqual(5);
  });

  it('an effect that is answered with a Retry-After of a fraction of a second is not tried before', async () => {
    const { delaySeconds } = await answered(503, { 'retry-after': '3600.5' });
    expect(delaySeconds).toBe(3601);
  });

  it('an effect that is answered with Retry-After as a date is tried again after that date', async () => {
    const { delaySeconds } = await answered(503, { 'retry-after': new Date(Date.now() + 300_000).toUTCString() });
    expect(delaySeconds).toBeGreaterThan(290);
    expect(delaySeconds).toBeLessThanOrEqual(300);
  });
});

it('an effect whose other side can not be reached is tried twelve times, and its event stays done', async () => {
  await holdBackEffects('has an effect not reached');
  const name = 'held is not reached';
  for (let attempt = 1; attempt < 12; attempt++) {
    expect((await consume([effectTicket(name)], QUEUE)).retried).toHaveLength(1);
    await waitsAreOver();
  }
  expect((await consume([effectTicket(name)], QUEUE)).acked).toEqual(['0']);
  expect(await effects()).toEqual([
    { name, status: 'parked', attempts: 12, failure: 'handler', last_error: 'TypeError: fetch failed' },
  ]);
  expect(await events()).toEqual([expect.objectContaining({ status: 'done', attempts: 1 })]);
});

it('an effect that never gets an answer is tried again', async () => {
  await holdBackEffects('has an effect that hangs');
  expect((await consume([effectTicket('held hangs')], QUEUE)).retried).toHaveLength(1);
  const last_error = 'Error: the effect took longer than 0.2 s';
  expect(await effects()).toEqual([
    { name: 'held hangs', status: 'pending', attempts: 1, failure: 'time_limit', last_error },
  ]);
});

it('an effect whose call is aborted at its time limit is tried again, and the log says why', async () => {
  await holdBackEffects('has an effect that is aborted');
  const [line] = await logged(() => consume([effectTicket('held is aborted')], QUEUE));
  expect(line).toMatchObject({ step: 'effect', outcome: 'retry', failure: 'time_limit', reason: 'Error' });
});

it('three more tickets and five sweeps of an effect that was told to wait send nothing and count no attempt, until the wait is over', async () => {
  await holdBackEffects('has an effect answered', { status: 503, headers: { 'retry-after': '3600' } });
  await consume([effectTicket('held answers')], QUEUE);
  // There is a line for every call to the outside.
  const lines = await logged(async () => {
    for (let n = 0; n < 8; n++) {
      await query(sql`update webhooks.effects set due_at = now() - interval '1 second'`);
      const tickets = n < 3 ? ['held answers'] : (await takeOverdue(database(), new Date())).effects;
      expect(tickets).toHaveLength(1);
      const { acked, retried } = await consume([effectTicket('held answers')], QUEUE);
      expect([acked, retried.length]).toEqual([[], 1]);
      expect(retried[0]?.delaySeconds).toBeGreaterThan(3500);
    }
  });
  expect(lines).toEqual([]);
  expect(await effects()).toEqual([expect.objectContaining({ status: 'pending', attempts: 1 })]);

  await waitsAreOver();
  await consume([effectTicket('held answers')], QUEUE);
  expect(await effects()).toEqual([expect.objectContaining({ status: 'pending', attempts: 2 })]);
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

  it.each(['a Response of a library', 'a Response with a reader on it'] as const)(
    'an effect that returns %s is sent',
    async (what) => {
      expect(await returned(what)).toEqual(sent('held returns'));
    },
  );
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

it('a message that is not the ticket of an effect is retried', async () => {
  expect((await consume([{ body: 'text' }], QUEUE)).retried).toHaveLength(1);
});

it('a ticket whose name holds NUL is retried, and its neighbours are worked', async () => {
  await holdBackEffects('has effects');
  const { acked, retried } = await consume([effectTicket('a\0b'), effectTicket('held first')], QUEUE);
  expect([acked, retried.map(({ id }) => id)]).toEqual([['1'], ['0']]);
  expect(await effects()).toContainEqual(sent('held first'));
});

it('an effect that reads the answer itself is sent', async () => {
  await holdBackEffects('has an effect that reads the answer');
  await consume([effectTicket('held reads the answer')], QUEUE);
  expect(await effects()).toEqual([sent('held reads the answer')]);
});

it('while Postgres is away, effects are retried, and no attempt is counted', async () => {
  await holdBackEffects('has effects');
  await query(sql`alter table webhooks.effects rename to hidden`);
  try {
    expect((await consume([effectTicket('held first')], QUEUE)).retried).toHaveLength(1);
  } finally {
    await query(sql`alter table webhooks.hidden rename to effects`);
  }
  expect(await effects()).toContainEqual({ ...sent('held first'), status: 'pending', attempts: 0 });
});
