import { sql } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { balanceOf, claimEvents, consume, empty, events, logged, query, ticket, waitsAreOver } from './in-workerd.ts';

const increments = (id: string, customer = 'c') => ({ id, type: 'increments', data: { customer } });
const DONE = { status: 'done', attempts: 1, failure: null, last_error: null };

beforeEach(empty);

describe('tickets', () => {
  it('twenty concurrent runs of one event change the database once', async () => {
    await claimEvents(increments('a'));
    const runs = await Promise.all(Array.from({ length: 20 }, () => consume([ticket('a')])));
    expect(runs.every(({ acked }) => acked.length === 1)).toBe(true);
    expect(await balanceOf('c')).toBe('1');
    expect(await events()).toEqual([{ id: 'a', ...DONE }]);
  });

  it('an event that nobody asked for is ignored, and its summary and its log line say so', async () => {
    await claimEvents({ id: 'a', type: 'constructor' });
    const lines = await logged(() => consume([ticket('a')]));
    const summary = 'no handler for test/constructor';
    expect(lines).toMatchObject([{ event_id: 'a', outcome: 'ignored', reason: summary }]);
    expect(await query(sql`select status, summary from webhooks.events`)).toEqual([{ status: 'ignored', summary }]);
  });

  it('an event without a handler is parked if its source is gone, its type is asked for, or it has failed before', async () => {
    await claimEvents(
      { id: 'a', type: 'x', source: 'toString' },
      { id: 'b', type: 'asked for' },
      { id: 'c', type: 'payed' },
      { id: 'd', type: 'payed' },
    );
    // As after an operator's retry, of an event that had failed and of a suspected replay.
    await query(sql`update webhooks.events set failure = 'handler' where event_id = 'c'`);
    await query(sql`update webhooks.events set failure = 'replay' where event_id = 'd'`);
    await consume([ticket('a', 'toString'), ticket('b'), ticket('c'), ticket('d')]);
    const parked = { status: 'parked', failure: 'no_handler' };
    const problem = (text: string) => `PermanentError: no handler for ${text}`;
    expect(await events()).toMatchObject([
      { id: 'a', ...parked, last_error: problem('toString/x, and src/sources.ts has no such source') },
      { id: 'b', ...parked, last_error: problem('test/asked for, although src/sources.ts names this type') },
      { id: 'c', ...parked, last_error: problem('test/payed, although it had one when it failed') },
      { id: 'd', status: 'ignored' },
    ]);
  });
});

describe('a handler', () => {
  it('gets the event as it was received, with its data as the schema returns them', async () => {
    const raw = '{"canary":"x", "id":9007199254740993}';
    const occurredAt = new Date('2026-03-01T12:00:00.123Z');
    await claimEvents({ id: 'a', type: 'notes what it gets', raw, occurredAt, headers: { 'x-a': 'b' } });
    const [line] = await logged(() => consume([ticket('a')]));
    expect(line?.got).toEqual({
      source: 'test',
      id: 'a',
      orderKey: null,
      late: false,
      type: 'notes what it gets',
      occurredAt: occurredAt.getTime(),
      receivedAt: expect.any(Number),
      data: { canary: 'x', id: '9007199254740993' },
      raw,
      headers: { 'x-a': 'b' },
    });
  });

  it('is told the time of receipt instead of none, or of one more than a day later, which would be newer than all others', async () => {
    const day = 86_400_000;
    const ahead = { a: null, b: day, c: day + 1, d: Date.UTC(9999, 11) };
    const receivedAt = new Date();
    for (const [id, ms] of Object.entries(ahead)) {
      const occurredAt = ms === null ? null : new Date(receivedAt.getTime() + ms);
      await claimEvents({ id, type: 'notes its time', receivedAt, occurredAt });
    }
    await consume(Object.keys(ahead).map((id) => ticket(id)));
    const rows = await query(sql`
      select customer as id, changed_at = received_at as "isReceipt", changed_at = occurred_at as "isItsOwn"
      from fixture.balances join webhooks.events on event_id = customer order by 1`);
    expect(rows).toEqual([
      { id: 'a', isReceipt: true, isItsOwn: null },
      { id: 'b', isReceipt: false, isItsOwn: true },
      { id: 'c', isReceipt: true, isItsOwn: false },
      { id: 'd', isReceipt: true, isItsOwn: false },
    ]);
  });

  it('that has failed before is asked after the others, because it may hang again', async () => {
    await claimEvents(increments('b'), { id: 'a', type: 'fails' });
    await query(sql`update webhooks.events set attempts = 1 where event_id = 'a'`);
    const lines = await logged(() => consume([ticket('a'), ticket('b')]));
    expect(lines).toMatchObject([
      { event_id: 'b', outcome: 'done' },
      { event_id: 'a', outcome: 'retry' },
    ]);
  });
});

describe('failures', () => {
  it('a failure is counted, its error is kept, its line says where it was and nothing of its message, and the event is retried', async () => {
    await claimEvents({ id: 'a', type: 'fails' });
    const lines = await logged(async () => {
      const { acked, retried } = await consume([ticket('a')]);
      expect([acked, retried.length]).toEqual([[], 1]);
      // A wait with jitter.
      expect(retried[0]?.delaySeconds).toBeGreaterThanOrEqual(1);
      expect(retried[0]?.delaySeconds).toBeLessThanOrEqual(5);
    });
    const last_error = 'TypeError: canary-9d1e is not a function';
    expect(await events()).toEqual([{ id: 'a', status: 'pending', attempts: 1, failure: 'handler', last_error }]);
    expect(lines).toMatchObject([
      { step: 'completion', event_id: 'a', outcome: 'retry', failure: 'handler', reason: 'TypeError' },
    ]);
    expect(lines[0]?.position).toMatch(/^handlers\.ts:\d+:\d+ < /);
    expect(JSON.stringify(lines)).not.toContain('canary');
  });

  it.each([
    ['builds nonsense', { failure: 'changes', last_error: 'RangeError: Invalid time value' }],
    ['breaks a check', { failure: 'database', last_error: expect.stringContaining('another_check') }],
    ['throws NUL', { failure: 'handler', last_error: 'Error: a b\ufffd' }],
    ['quotes a secret', { failure: 'handler', last_error: 'TypeError: Invalid URL: [DATABASE_URL]/receipts' }],
    ['has an effect and breaks a constraint', { failure: 'database' }],
  ])('an event whose handler %s is tried again, and its neighbour is done', async (type, failure) => {
    await claimEvents(increments('a'), { id: 'b', type });
    const { acked, retried } = await consume([ticket('a'), ticket('b')]);
    expect([acked, retried.map(({ id }) => id)]).toEqual([['0'], ['1']]);
    expect(await events()).toMatchObject([
      { id: 'a', ...DONE },
      { id: 'b', status: 'pending', attempts: 1, ...failure },
    ]);
    expect(await query(sql`select name from webhooks.effects`)).toEqual([]);
  });

  it.each([
    ['{"nested":{"list":[1,"canary",{}]}}', ['nested.list.1', 'nested.list.2']],
    ['{"nested":7}', ['nested']],
    ['7', ['']],
  ])(
    'a payload %s that does not match the schema parks the event with the paths, and without a value',
    async (raw, paths) => {
      await claimEvents({ id: 'a', type: 'notes what it gets', raw });
      expect((await consume([ticket('a')])).acked).toEqual(['0']);
      expect(await events()).toMatchObject([
        {
          status: 'parked',
          failure: 'schema',
          last_error: `PermanentError: the payload does not match the handler's schema at ${paths.join(', ') || 'its root'}`,
        },
      ]);
      // The position is that of the definition with the schema.
      expect(await query(sql`select failed_paths, position from webhooks.events`)).toEqual([
        { failed_paths: paths, position: expect.stringMatching(/^handlers\.ts:\d+:\d+/) },
      ]);
    },
  );

  it('what cannot be read parks only its own event: a key with NUL, and a body that is not JSON', async () => {
    await claimEvents(
      increments('a'),
      { id: 'b', type: 'has numbers by key', data: { 'a\0b': 'one' } },
      { id: 'c', type: 'increments', raw: 'customer=c' },
    );
    expect((await consume([ticket('a'), ticket('b'), ticket('c')])).acked).toEqual(['0', '1', '2']);
    expect(await events()).toMatchObject([
      { status: 'done' },
      { status: 'parked', failure: 'schema' },
      { status: 'parked', failure: 'schema', last_error: 'PermanentError: the body is not JSON' },
    ]);
  });

  it('an event is parked after the last attempt of its handler, however often its ticket was delivered', async () => {
    await claimEvents({ id: 'a', type: 'has two tries' });
    expect((await consume([{ ...ticket('a'), attempts: 50 }])).retried).toHaveLength(1);
    await waitsAreOver();
    expect((await consume([ticket('a')])).acked).toEqual(['0']);
    expect(await events()).toMatchObject([{ status: 'parked', attempts: 2 }]);
  });
});

it('a batch whose bodies are too large for memory together is worked in several batches', async () => {
  // Two bytes each, and one character.
  const data = { customer: 'c', pad: 'ü'.repeat(450_000) };
  const ids = Array.from({ length: 20 }, (_, n) => `evt_${n}`);
  await claimEvents(...ids.map((id) => ({ id, type: 'increments', data })));
  const first = await consume(ids.map((id) => ticket(id)));
  expect(first.retried.map(({ delaySeconds }) => delaySeconds)).toEqual(first.retried.map(() => 1));
  expect([first.acked.length, first.retried.length]).toEqual([19, 1]);
  await consume(first.retried.map(({ id }) => ticket(ids[Number(id)] ?? '')));
  expect(await balanceOf('c')).toBe('20');
});
