import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Fault } from '../../cli/local/neon/endpoint.ts';
import { type ClaimRequest, MAX_REPLAYS } from '../../src/db/claim.ts';
import { unpack } from '../../src/queue/forwarded.ts';
import { claimOrForward, sendOverdueTickets } from '../../src/receiver/claim-or-forward.ts';
import type { LogLine } from '../../src/shared/log.ts';
import { BODY_MARK, searchedLog } from '../canaries/canaries.ts';
import { useDatabase } from '../database.ts';
import { FakeQueue } from '../fake-queue.ts';
import { newEvent } from '../new-event.ts';

const database = useDatabase();

const NOW = new Date('2026-03-01T12:00:00Z');
const delivery = (body = `{"note":"${BODY_MARK}"}`): ClaimRequest => ({
  source: 'test',
  events: [newEvent('a', { body, occurredAt: NOW })],
  headers: { 'content-type': 'application/json' },
  receivedAt: NOW,
  unsignedIds: true,
});

let queue: FakeQueue;
let requests: number;
const lines: object[] = [];
/** None of the lines may hold anything of a body, or of what Postgres and Neon say about it. */
const keep = (line: LogLine) => {
  searchedLog(line);
  lines.push(line);
};

beforeEach(async () => {
  queue = new FakeQueue();
  lines.length = 0;
  await database.sql('delete from webhooks.events');
});

afterEach(() => {
  database.stack.neon.fault = undefined;
});

/** The endpoint answers the next requests with these faults, one each, and works after that. */
function fail(...faults: (Fault | undefined)[]): void {
  requests = 0;
  database.stack.neon.fault = () => faults[requests++];
}

function held(given = delivery()) {
  const env = { DATABASE_URL: database.stack.workerUrls.receiver, EVENTS: queue } as unknown as Env;
  return claimOrForward(given, env, keep, 30_000);
}

const FORWARDED = { outcome: 'forwarded', eventIds: ['a'] };
const always = (fault: Fault) => Array.from({ length: 10 }, () => fault);

it('a claim is one request, and its ticket is written before the answer', async () => {
  fail();
  expect(await held()).toEqual({
    outcome: 'claimed',
    eventIds: ['a'],
    claims: { claimed: ['a'], known: [], parked: [], refused: [] },
  });
  expect([requests, queue.tickets]).toEqual([1, [{ version: 1, source: 'test', eventId: 'a' }]]);
});

it('a claim is kept although the queue refuses its ticket, and the log names only the event that has none', async () => {
  await held();
  queue.refuses = true;
  const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
  const headers = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
  const events = [newEvent('a'), newEvent('b')];
  expect(await held({ ...delivery(), headers, events })).toMatchObject({ outcome: 'claimed', eventIds: ['a', 'b'] });
  const line = { step: 'tickets', outcome: 'not_sent', source: 'test', event_id: 'b' };
  expect(lines).toEqual([{ ...line, trace_id: traceId }]);
});

describe('a claim that fails', () => {
  const temporary: Fault[] = [
    { kind: 'server error', message: `no room for ${BODY_MARK}` },
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

  it('a delivery that is too large for a message is not held while Postgres is away', async () => {
    fail(...always({ kind: 'server error' }));
    const pad = randomBytes(200_000).toString('base64');
    expect(await held(delivery(JSON.stringify({ pad })))).toEqual({ outcome: 'not_held' });
    expect(queue.forwarded).toEqual([]);
  });

  it('a delivery is not held if Postgres is away and the queue refuses', async () => {
    fail(...always({ kind: 'server error' }));
    queue.refuses = true;
    expect(await held()).toEqual({ outcome: 'not_held' });
  });
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

it('of a flood of suspected replays, a further one is refused, and the other events of its delivery are claimed', async () => {
  await database.sql(
    `insert into webhooks.events (source, event_id, received_at, due_at, status, fingerprint, replay_number)
     select 'test', 'waits ' || n, now(), now(), 'parked', 'same', n from generate_series(0, $1) n`,
    [MAX_REPLAYS],
  );
  const events = [newEvent('one too many', { fingerprint: 'same' }), newEvent('another', { fingerprint: 'other' })];
  expect(await held({ ...delivery(), events })).toEqual({ outcome: 'too_many_replays', eventIds: ['one too many'] });
  expect(queue.tickets).toEqual([{ version: 1, source: 'test', eventId: 'another' }]);
});

it('a suspected replay gets no ticket, also if only the second try parks it', async () => {
  const replay = (id: string) => ({ ...delivery(), events: [newEvent(id, { fingerprint: 'same' })] });
  await held(replay('first'));
  fail({ kind: 'server error' });
  expect(await held(replay('second'))).toMatchObject({ outcome: 'claimed', claims: { parked: ['second'] } });
  expect(queue.tickets).toEqual([{ version: 1, source: 'test', eventId: 'first' }]);
});

it('a claim that Postgres refuses, because the tables are not up to date, is forwarded, and the log says what to do', async () => {
  await database.sql('alter table webhooks.bodies rename to hidden');
  try {
    expect(await held()).toEqual(FORWARDED);
  } finally {
    await database.sql('alter table webhooks.hidden rename to bodies');
  }
  expect(lines).toEqual([expect.objectContaining({ reason: expect.stringContaining('npm run db:migrate') })]);
});

describe('a look-up of lost tickets after a duplicate', () => {
  const lookUp = async () => {
    const env = { DATABASE_URL: database.stack.workerUrls.receiver, EVENTS: queue } as unknown as Env;
    await sendOverdueTickets('test', ['a', 'unknown'], env, new Date('2026-03-02'), keep);
  };

  it('sends them', async () => {
    await held();
    queue.tickets.length = 0;
    await lookUp();
    expect([queue.tickets, lines]).toEqual([[{ version: 1, source: 'test', eventId: 'a' }], []]);
  });

  it('is logged if it fails, or if the queue takes no ticket', async () => {
    await held();
    queue.refuses = true;
    await lookUp();
    await database.sql(`revoke select (due_at) on webhooks.events from ${database.role('receiver')}`);
    try {
      await lookUp();
    } finally {
      await database.sql(`grant select (due_at) on webhooks.events to ${database.role('receiver')}`);
    }
    const line = { step: 'tickets', source: 'test' };
    const failed = { ...line, outcome: 'look_up_failed', reason: expect.stringContaining('SQLSTATE 42501') };
    expect(lines).toEqual([
      { ...line, outcome: 'not_sent', event_id: 'a' },
      { ...failed, event_ids: ['a', 'unknown'], events: 2 },
    ]);
  });
});
