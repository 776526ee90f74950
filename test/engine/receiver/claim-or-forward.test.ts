import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Fault } from '../../../scripts/local/neon/endpoint.ts';
import { unpack } from '../../../src/queue/forwarded.ts';
import { CLAIM_TIMEOUT_MS, claimOrForward, sendOverdueTickets } from '../../../src/receiver/claim-or-forward.ts';
import { useDatabase } from '../database.ts';
import { newEvent } from '../new-event.ts';

const database = useDatabase();

const NOW = new Date('2026-03-01T12:00:00Z');
const delivery = (body = '{}') => ({
  source: 'test',
  events: [newEvent('a', { body, occurredAt: NOW })],
  headers: { 'content-type': 'application/json' },
  receivedAt: NOW,
});

/** In Node, no request ends with its delivery. So this one may be claimed during a later test, and has an id of its own. */
const late = () => ({ ...delivery(), events: [newEvent('late')] });

/** A queue as the receiver sees it. A real one can't be made to refuse on this machine. */
class FakeQueue {
  readonly tickets: unknown[] = [];
  readonly forwarded: Uint8Array<ArrayBuffer>[] = [];
  behaviour: 'writes' | 'refuses' | 'hangs' = 'writes';

  send = (message: Uint8Array<ArrayBuffer>) => this.behave(() => this.forwarded.push(message));
  sendBatch = (messages: { body: unknown }[]) =>
    this.behave(() => this.tickets.push(...messages.map(({ body }) => body)));

  private behave(write: () => void): Promise<unknown> {
    if (this.behaviour === 'refuses') return Promise.reject(new Error('Too Many Requests (10250)'));
    if (this.behaviour === 'hangs') return new Promise(() => {});
    return Promise.resolve(write());
  }
}

let queue: FakeQueue;
let requests: number;
const lines: object[] = [];

beforeEach(async () => {
  queue = new FakeQueue();
  lines.length = 0;
  await database.sql('truncate webhooks.events cascade');
});

afterEach(() => {
  database.stack.neon.fault = undefined;
});

/** The endpoint answers the next requests with these faults, one each, and works after that. */
function fail(...faults: (Fault | undefined)[]): void {
  requests = 0;
  database.stack.neon.fault = () => faults[requests++];
}

function held(given = delivery(), timeoutMs = 30_000) {
  const env = { DATABASE_URL: database.stack.workerUrls.receiver, EVENTS: queue } as unknown as Env;
  return claimOrForward(given, env, (line) => lines.push(line), timeoutMs);
}

const FORWARDED = { outcome: 'forwarded', eventIds: ['a'] };
const always = (fault: Fault) => Array.from({ length: 10 }, () => fault);

it('a claim is one request, and its ticket is written before the answer', async () => {
  fail();
  expect(await held()).toEqual({
    outcome: 'claimed',
    eventIds: ['a'],
    claims: { claimed: ['a'], parked: [], dropped: [] },
  });
  expect([requests, queue.tickets]).toEqual([1, [{ version: 1, source: 'test', eventId: 'a' }]]);
});

it.each(['refuses', 'hangs'] as const)(
  'a claim is kept although the queue %s when its ticket is sent',
  async (behaviour) => {
    queue.behaviour = behaviour;
    expect(await held()).toMatchObject({ outcome: 'claimed' });
    expect(lines).toEqual([{ step: 'tickets', outcome: 'not_sent', source: 'test', event_id: 'a' }]);
  },
);

describe('a claim that fails', () => {
  const temporary: Fault[] = [
    { kind: 'server error' },
    { kind: 'connection died' },
    { kind: 'refused' },
    { kind: 'not JSON' },
  ];

  it.each(temporary)('a claim that fails with $kind is tried a second time', async (fault) => {
    fail(fault);
    expect(await held()).toMatchObject({ outcome: 'claimed', claims: { claimed: ['a'] } });
    expect([requests, queue.forwarded]).toEqual([2, []]);
  });

  it('a claim that committed although its answer was lost is found by the second try, which sends its ticket', async () => {
    fail({ kind: 'reply dropped' });
    expect(await held()).toMatchObject({ outcome: 'claimed', claims: { claimed: [] } });
    expect(queue.tickets).toEqual([{ version: 1, source: 'test', eventId: 'a' }]);
  });

  it('a claim that fails permanently is forwarded without a second try', async () => {
    fail(...always({ kind: 'server error', message: 'Your project has exceeded the compute time quota' }));
    expect(await held()).toEqual(FORWARDED);
    expect(requests).toBe(1);
  });

  it.each(temporary)('a claim that fails twice with $kind is forwarded with its whole delivery', async (fault) => {
    fail(...always(fault));
    const given = delivery('{"emoji":"✅","escaped":"\\u0000"}');
    expect(await held(given)).toEqual(FORWARDED);
    expect(requests).toBe(2);
    const message = queue.forwarded[0]?.buffer ?? new ArrayBuffer();
    expect(await unpack(message)).toEqual({ ...given, unreadable: [] });
  });

  it('a claim that takes too long is forwarded', async () => {
    fail({ kind: 'slow', ms: 10_000 });
    expect(await held(late(), 10)).toEqual({ outcome: 'forwarded', eventIds: ['late'] });
  });

  it('a forwarded delivery is compressed, so that a body of 1 MB fits into a message', async () => {
    fail(...always({ kind: 'server error' }));
    expect(await held(delivery(JSON.stringify({ pad: 'x'.repeat(1_000_000) })))).toEqual(FORWARDED);
    expect(queue.forwarded[0]?.length).toBeLessThan(128_000);
  });

  it('a delivery that is too large for a message is not held while Postgres is away', async () => {
    fail(...always({ kind: 'server error' }));
    const pad = randomBytes(200_000).toString('base64');
    expect(await held(delivery(JSON.stringify({ pad })))).toEqual({ outcome: 'not_held' });
    expect(queue.forwarded).toEqual([]);
  });

  it.each(['refuses', 'hangs'] as const)(
    'a delivery is not held if Postgres is away and the queue %s',
    async (behaviour) => {
      fail(...always({ kind: 'server error' }));
      queue.behaviour = behaviour;
      expect(await held()).toEqual({ outcome: 'not_held' });
    },
  );
});

it('a mistake in our code on the way to Postgres is logged with its position, and the delivery is forwarded', async () => {
  // The driver calls this while it encodes the parameters, and JSON leaves it out.
  const broken = {
    toPostgres() {
      throw new RangeError('a mistake');
    },
  };
  const given = { ...delivery(), events: [newEvent('a', { type: broken as unknown as string })] };
  expect(await held(given)).toEqual(FORWARDED);
  expect(lines).toEqual([
    expect.objectContaining({
      step: 'claim',
      outcome: 'failed',
      error: 'RangeError',
      position: expect.stringContaining('toPostgres (claim-or-forward.test.ts'),
    }),
  ]);
});

/** In small steps: a pause of this process then counts as one step, however long it is. */
async function threeSeconds(): Promise<'too late'> {
  for (let n = 0; n < 30; n++) await new Promise((resolve) => setTimeout(resolve, 100));
  return 'too late';
}

it('the answer comes within three seconds although Postgres and the queue hang', async () => {
  fail({ kind: 'slow', ms: 10_000 });
  queue.behaviour = 'hangs';
  expect(await Promise.race([held(late(), CLAIM_TIMEOUT_MS), threeSeconds()])).toEqual({ outcome: 'not_held' });
});

describe('a look-up of lost tickets after a duplicate', () => {
  const lookUp = async () => {
    const env = { DATABASE_URL: database.stack.workerUrls.receiver, EVENTS: queue } as unknown as Env;
    await sendOverdueTickets('test', ['a'], env, new Date('2026-03-02'), (line) => lines.push(line));
  };

  it('sends them', async () => {
    await held();
    queue.tickets.length = 0;
    await lookUp();
    expect([queue.tickets, lines]).toEqual([[{ version: 1, source: 'test', eventId: 'a' }], []]);
  });

  it('is logged if it fails, or if the queue takes no ticket', async () => {
    await held();
    queue.behaviour = 'refuses';
    await lookUp();
    await database.sql('revoke select (due_at) on webhooks.events from claimcheck_receiver');
    try {
      await lookUp();
    } finally {
      await database.sql('grant select (due_at) on webhooks.events to claimcheck_receiver');
    }
    const line = { step: 'tickets', source: 'test', event_id: 'a' };
    expect(lines).toEqual([
      { ...line, outcome: 'not_sent' },
      { ...line, outcome: 'look_up_failed', reason: expect.stringContaining('SQLSTATE 42501') },
    ]);
  });
});
