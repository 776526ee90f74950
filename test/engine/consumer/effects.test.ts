import { sql } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { claimEvents, consume, empty, events, holdBackEffects, logged, QUEUES, query, ticket } from './in-workerd.ts';

const QUEUE = QUEUES.effects;
const effects = () => query(sql`select name, status, attempts, last_error from webhook_effects order by name`);
const effectTicket = (name: string, id = 'a') => ({ body: { source: 'test', eventId: id, name } });
const finished = (name: string, status = 'sent', last_error: string | null = null) => ({
  name,
  status,
  attempts: 1,
  last_error,
});

beforeEach(empty);

it('an event’s effects are committed with its completion, and its summary names them', async () => {
  await claimEvents({ id: 'a', type: 'has effects' });
  await consume([ticket('a')]);
  expect(await query(sql`select status, summary from webhook_events`)).toEqual([
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
    finished('held first'),
    finished('held gone', 'parked', 'PermanentError: there is no effect of a kind that is gone in src/app/effects'),
    finished('held second'),
  ]);
});

it('a second ticket of an effect that is sent sends nothing', async () => {
  await holdBackEffects('has effects');
  await consume([effectTicket('held first')], QUEUE);
  const lines = await logged(() => consume([effectTicket('held first'), effectTicket('held first')], QUEUE));
  // There is a line for every call to the outside.
  expect(lines).toEqual([]);
  expect(await effects()).toContainEqual(finished('held first'));
});

describe('answers of the other side', () => {
  const answered = async (status: number, headers: Record<string, string> = {}) => {
    await holdBackEffects('has an effect answered', { status, headers });
    const { retried } = await consume([effectTicket('held answers')], QUEUE);
    const [effect] = await effects();
    return { delaySeconds: retried[0]?.delaySeconds, status: effect?.status };
  };

  it.each([200, 201, 204])('an effect that is answered %i is sent', async (status) => {
    expect(await answered(status)).toEqual({ delaySeconds: undefined, status: 'sent' });
  });

  it.each([400, 401, 403, 404, 410, 422])('an effect that is answered %i is parked at once', async (status) => {
    expect(await answered(status)).toEqual({ delaySeconds: undefined, status: 'parked' });
  });

  it.each([408, 409, 425, 429, 500, 502, 503])('an effect that is answered %i is tried again', async (status) => {
    const { delaySeconds, status: now } = await answered(status);
    expect(now).toBe('pending');
    expect(delaySeconds).toBeGreaterThanOrEqual(1);
    expect(delaySeconds).toBeLessThanOrEqual(5);
  });

  it.each([429, 503])(
    'an effect that is answered %i with Retry-After is tried again after that time',
    async (status) => {
      expect(await answered(status, { 'retry-after': '120' })).toEqual({ delaySeconds: 120, status: 'pending' });
    },
  );

  it('an effect that is answered with an endless Retry-After is tried again after the usual wait', async () => {
    const { delaySeconds, status } = await answered(503, { 'retry-after': '9'.repeat(400) });
    expect([status, typeof delaySeconds]).toEqual(['pending', 'number']);
    expect(delaySeconds).toBeLessThanOrEqual(5);
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
  }
  expect((await consume([effectTicket(name)], QUEUE)).acked).toEqual(['0']);
  expect(await effects()).toEqual([{ ...finished(name, 'parked', 'TypeError: fetch failed'), attempts: 12 }]);
  expect(await events()).toEqual([expect.objectContaining({ status: 'done', attempts: 1 })]);
});

it('an effect that never gets an answer is tried again', async () => {
  await holdBackEffects('has an effect that hangs');
  expect((await consume([effectTicket('held hangs')], QUEUE)).retried).toHaveLength(1);
  expect(await effects()).toEqual([finished('held hangs', 'pending', 'Error: the effect took longer than 0.2 s')]);
});

it('a message that is not the ticket of an effect is retried', async () => {
  expect((await consume([{ body: 'text' }], QUEUE)).retried).toHaveLength(1);
});

it('a ticket whose name holds NUL is retried, and its neighbours are worked', async () => {
  await holdBackEffects('has effects');
  const { acked, retried } = await consume([effectTicket('a\0b'), effectTicket('held first')], QUEUE);
  expect([acked, retried.map(({ id }) => id)]).toEqual([['1'], ['0']]);
  expect(await effects()).toContainEqual(finished('held first'));
});

it('an effect that reads the answer itself is sent', async () => {
  await holdBackEffects('has an effect that reads the answer');
  await consume([effectTicket('held reads the answer')], QUEUE);
  expect(await effects()).toEqual([finished('held reads the answer')]);
});

it('while Postgres is away, effects are retried, and no attempt is counted', async () => {
  await holdBackEffects('has effects');
  await query(sql`alter table webhook_effects rename to hidden`);
  try {
    expect((await consume([effectTicket('held first')], QUEUE)).retried).toHaveLength(1);
  } finally {
    await query(sql`alter table hidden rename to webhook_effects`);
  }
  expect(await effects()).toContainEqual({ ...finished('held first', 'pending'), attempts: 0 });
});
