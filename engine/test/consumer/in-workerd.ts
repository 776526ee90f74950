// Helpers for tests inside workerd: the queue's own calls into the consumer, and a look into Postgres.
import { env, exports } from 'cloudflare:workers';
import { type SQL, sql } from 'drizzle-orm';
import { vi } from 'vitest';
import { claim } from '../../src/db/claim.ts';
import { openDatabase, run } from '../../src/db/client.ts';
import { MESSAGE_VERSION } from '../../src/queue/tickets.ts';
import { learnPassword, withMark } from '../canaries/canaries.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import { limits } from './worker.ts';

/** The consumer under test has a role of its own. What a test prepares and looks at is done as the owner of the tables. */
const { OWNER_URL, DATABASE_URL } = env as unknown as { OWNER_URL: string; DATABASE_URL: string };
for (const url of [OWNER_URL, DATABASE_URL]) learnPassword(url);

/** The names in the fixture's wrangler file. */
export const QUEUES = {
  events: 'deadline-events',
  eventsDead: 'effects-of-events',
  effects: 'side-effects-events',
  effectsDead: 'events-of-effects',
};

export const database = () => openDatabase(OWNER_URL);
export const query = <Row extends Record<string, unknown>>(statement: SQL) => run<Row>(database(), statement);

/** The effects of the test before may still be sent. A truncate would wait for them, and they for the truncate. */
export async function empty(): Promise<void> {
  limits.ms = 30_000;
  await query(sql`delete from webhooks.events`);
  await query(sql`delete from webhooks.pauses`);
  await query(sql`delete from fixture.balances`);
}

interface EventLike {
  readonly id: string;
  readonly type: string;
  readonly source?: string;
  readonly data?: unknown;
  /** Instead of `data`. */
  readonly raw?: string;
  readonly occurredAt?: Date | null;
  readonly receivedAt?: Date;
  readonly headers?: Record<string, string>;
}

/** Claims events as the receiver would. */
export async function claimEvents(...events: EventLike[]): Promise<void> {
  for (const {
    source = 'test',
    id,
    type,
    data = {},
    raw,
    occurredAt = null,
    receivedAt = new Date(),
    headers = {},
  } of events) {
    const event = newEvent(id, { type, body: raw ?? withMark(JSON.stringify(data)), occurredAt });
    await claim(database(), claimRequest([event], { source, receivedAt, headers }));
  }
}

export interface Delivered {
  readonly body: unknown;
  readonly attempts?: number;
}

/** A service binding to a queue's consumer, with the flag service_binding_extra_handlers. */
interface QueueService {
  queue(
    name: string,
    messages: { id: string; timestamp: Date; attempts: number; body: unknown }[],
  ): Promise<{ outcome: string; explicitAcks: string[]; retryMessages: { msgId: string; delaySeconds?: number }[] }>;
}

/** Sends messages to the consumer. The id of a message is its index. */
export async function consume(messages: readonly Delivered[], queue = QUEUES.events) {
  const consumer = exports.default as unknown as QueueService;
  const result = await consumer.queue(
    queue,
    messages.map(({ body, attempts = 1 }, at) => ({ id: String(at), timestamp: new Date(), attempts, body })),
  );
  return {
    outcome: result.outcome,
    acked: result.explicitAcks.toSorted(),
    retried: result.retryMessages
      .map(({ msgId, delaySeconds }) => ({ id: msgId, delaySeconds }))
      .toSorted((a, b) => Number(a.id) - Number(b.id)),
  };
}

/** A message as `pack` makes it, but of any value. */
export async function packed(value: object): Promise<Delivered> {
  const stream = new Response(JSON.stringify({ version: MESSAGE_VERSION, ...value })).body?.pipeThrough(
    new CompressionStream('gzip'),
  );
  return { body: await new Response(stream).arrayBuffer() };
}

/** A forwarded delivery with one event, where `delivery` and `event` replace values of it. */
export const forwardedWith = (event: object, delivery: object = {}) =>
  packed({
    source: 'test',
    events: [{ ...newEvent('a', { type: 'increments', body: '{"customer":"c"}' }), ...event }],
    headers: {},
    receivedAt: '2026-03-01T12:00:00.000Z',
    ...delivery,
  });

/** The lines that the consumer logs while `work` runs. */
export async function logged(work: () => Promise<unknown>): Promise<Record<string, unknown>[]> {
  const spy = vi.spyOn(console, 'log');
  await work();
  const lines = spy.mock.calls.map(([line]) => JSON.parse(String(line)) as Record<string, unknown>);
  spy.mockRestore();
  return lines;
}

/** Ends the waits of all events and effects. */
export const waitsAreOver = () =>
  query(sql`
    with all_effects as (update webhooks.effects set not_before = now())
    update webhooks.events set not_before = now()`);

export const ticket = (id: string, source = 'test') => ({ body: { version: MESSAGE_VERSION, source, eventId: id } });
export const effectTicket = (name: string) => ({ body: { ...ticket('a').body, name } });

interface EventRow extends Record<string, unknown> {
  readonly id: string;
  readonly status: string;
  readonly attempts: number;
  readonly failure: string | null;
  readonly last_error: string | null;
}

export const events = () =>
  query<EventRow>(sql`select event_id as id, status, attempts, failure, last_error from webhooks.events order by 1`);

export const balanceOf = async (customer: string) => {
  const [row] = await query<{ balance: string }>(
    sql`select balance from fixture.balances where customer = ${customer}`,
  );
  return row?.balance;
};

/** Works the event `a`, and renames its effects, so that their own tickets don't find them and send them too early. */
export async function holdBackEffects(type: string, data: unknown = {}): Promise<void> {
  await claimEvents({ id: 'a', type, data });
  await query(sql`create or replace function hold_back() returns trigger language plpgsql as
    $$ begin new.name = 'held ' || new.name; return new; end $$`);
  await query(sql`create or replace trigger hold_back before insert on webhooks.effects
    for each row execute function hold_back()`);
  await consume([ticket('a')]);
  await query(sql`drop trigger hold_back on webhooks.effects`);
}
