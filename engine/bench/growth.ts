import { randomUUID } from 'node:crypto';
import { claim } from '../src/db/claim.ts';
import { type Database, openDatabase } from '../src/db/client.ts';
import { complete, loadEvents } from '../src/db/events.ts';
import { takeOverdue } from '../src/db/sweep.ts';
import { type BenchDatabase, startDatabase } from './database.ts';
import { fillLedger } from './ledger.ts';
import { alternate, type Length, type Measured, percentile, type Row, Rows } from './rows.ts';

/** Events that the sweep finds, regardless of the ledger's size. */
const OVERDUE = 1000;

/** Tickets in a batch of the queue (max_batch_size). */
const BATCH = 100;

/** Events that are claimed and completed in a round. */
const EVENTS = 1000;

/** Measures whether claims, completions and sweeps cost more in a larger ledger. */
export async function benchGrowth(length: Length, sizes: readonly number[]): Promise<Row[]> {
  const rows = new Rows();
  await using started = new AsyncDisposableStack();
  const databases: BenchDatabase[] = [];
  for (const size of sizes) {
    const database = started.use(await startDatabase());
    databases.push(database);
    await fillLedger(database, { done: size - OVERDUE, overdue: OVERDUE });
    // Autovacuum would affect some measurements and not others.
    for (const table of ['webhooks.events', 'webhooks.bodies']) {
      await database.client.query(`alter table ${table} set (autovacuum_enabled = off)`);
    }
  }
  const largest = Math.max(...sizes).toLocaleString('en');
  const events = Math.max(BATCH, Math.round(length.part * EVENTS));
  const tasks = databases.map((database, n) => async (round: number) => {
    const size = `${sizes[n]?.toLocaleString('en')} events`;
    for (const [row, measured] of Object.entries(await measure(database, events))) {
      // Skip the first round, which fills Postgres's caches.
      if (round > 0) rows.add(`growth to ${largest} events, ${row}`, size, measured);
    }
  });
  await alternate(length.rounds + 1, tasks);
  const sizeOf = ({ variant }: Row) => Number(variant.replaceAll(/\D/g, ''));
  return rows.all().toSorted((a, b) => sizeOf(a) - sizeOf(b));
}

async function measure(database: BenchDatabase, amount: number): Promise<Record<string, Measured>> {
  const db = openDatabase(database.url);
  const ids = Array.from({ length: amount }, () => randomUUID());
  const batches = Array.from({ length: amount / BATCH }, (_, n) => ids.slice(n * BATCH, (n + 1) * BATCH));
  return {
    'claim of an event': await timed(database, ids, 1, (id) => claimOne(db, id)),
    'completion of an event, in batches of 100': await timed(database, batches, BATCH, (batch) =>
      completeAll(db, batch),
    ),
    [`sweep of ${OVERDUE.toLocaleString('en')} overdue events`]: await sweep(database, db),
  };
}

/** Measures Postgres's CPU time, because a caller's waiting time includes two other processes. */
async function timed<Item>(
  database: BenchDatabase,
  items: readonly Item[],
  eventsPerItem: number,
  work: (item: Item) => Promise<unknown>,
): Promise<Measured> {
  const times: number[] = [];
  const before = database.cpu();
  for (const item of items) {
    const begin = performance.now();
    await work(item);
    times.push(performance.now() - begin);
  }
  return {
    'CPU ms per event in Postgres': (database.cpu() - before) / items.length / eventsPerItem,
    'p50 ms': percentile(times, 50),
  };
}

function claimOne(db: Database, eventId: string) {
  const fingerprint = eventId.replaceAll('-', '').repeat(2);
  const body = JSON.stringify({ data: 'x'.repeat(1000) });
  const event = { eventId, type: 'issues', occurredAt: null, fingerprint, body };
  const headers = { 'content-type': 'application/json' };
  return claim(db, { source: 'bench', events: [event], headers, receivedAt: new Date(), unsignedIds: false });
}

async function completeAll(db: Database, ids: readonly string[]): Promise<void> {
  const events = await loadEvents(
    db,
    ids.map((eventId) => ({ source: 'bench', eventId })),
  );
  const done = events.map(({ source, eventId }) => ({
    source,
    eventId,
    status: 'done' as const,
    summary: '1 change',
    statements: [],
    effects: [],
  }));
  await complete(db, done, new Date());
}

async function sweep({ client }: BenchDatabase, db: Database): Promise<Measured> {
  await client.query(`update webhooks.events set due_at = received_at where status = 'pending'`);
  const begin = performance.now();
  let taken = 0;
  while (taken < OVERDUE) {
    const { events } = await takeOverdue(db, new Date());
    if (events.length === 0) throw new Error(`the sweep found ${taken} events instead of ${OVERDUE}`);
    taken += events.length;
  }
  return { ms: performance.now() - begin };
}
