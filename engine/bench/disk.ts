import { randomBytes, randomUUID } from 'node:crypto';
import { claim } from '../src/db/claim.ts';
import { openDatabase } from '../src/db/client.ts';
import { complete } from '../src/db/events.ts';
import { type BenchDatabase, startDatabase } from './database.ts';
import { type Length, type Row, Rows } from './rows.ts';

/** Events that are claimed and completed together. */
const BATCH = 100;

/**
 * The number of portions, with a vacuum after each, so that the space of old row versions is reused as in production.
 */
const PORTIONS = 10;

/** Measures an event's disk space and WAL from its claim to its completion. */
export async function benchDisk({ part }: Length): Promise<Row[]> {
  const rows = new Rows();
  await using database = await startDatabase();
  const events = PORTIONS * BATCH * Math.max(1, Math.round(part * 5));
  for (const [variant, bodyBytes, hasReplayKey] of [
    ['body of 1 KB', 1000, false],
    ['body of 1 KB, replay key', 1000, true],
    ['body of 10 KB', 10_000, false],
  ] as const) {
    rows.add('bytes per event on disk', variant, await measure(database, events, bodyBytes, hasReplayKey));
  }
  return rows.all();
}

async function measure(database: BenchDatabase, events: number, bodyBytes: number, hasReplayKey: boolean) {
  const { client, url } = database;
  const db = openDatabase(url);
  const walBytes = async () => {
    const { rows } = await client.query(`select pg_current_wal_insert_lsn() - '0/0' as bytes`);
    return Number((rows as { bytes: string }[])[0]?.bytes);
  };
  await client.query('truncate webhooks.events cascade');
  let wal = 0;
  for (let portion = 0; portion < PORTIONS; portion++) {
    const before = await walBytes();
    for (let batch = 0; batch < events / PORTIONS / BATCH; batch++) {
      const claimed = Array.from({ length: BATCH }, () => randomUUID()).map((eventId) => ({
        eventId,
        type: 'invoice.paid',
        occurredAt: new Date(),
        fingerprint: hasReplayKey ? randomHex(32) : null,
        body: bodyOf(bodyBytes),
      }));
      const headers = { 'content-type': 'application/json' };
      await claim(db, { source: 'bench', events: claimed, headers, receivedAt: new Date(), unsignedIds: false });
      const done = { source: 'bench', status: 'done' as const, summary: '1 change', statements: [], effects: [] };
      await complete(
        db,
        claimed.map(({ eventId }) => ({ ...done, eventId })),
        new Date(),
      );
    }
    wal += (await walBytes()) - before;
    await client.query('vacuum webhooks.events, webhooks.bodies');
  }
  const { rows } = await client.query(`
    select pg_table_size('webhooks.events')::int as ledger, pg_indexes_size('webhooks.events')::int as indexes,
           pg_total_relation_size('webhooks.bodies')::int as bodies`);
  const [sizes] = rows as { ledger: number; indexes: number; bodies: number }[];
  return {
    'bytes: row in the ledger': (sizes?.ledger ?? Number.NaN) / events,
    'bytes: its index entries': (sizes?.indexes ?? Number.NaN) / events,
    'bytes: body, with its index': (sizes?.bodies ?? Number.NaN) / events,
    'bytes: WAL': wal / events,
  };
}

/** JSON with random values and repeated keys, because Postgres compresses values longer than 2 KB. */
function bodyOf(bytes: number): string {
  const items: object[] = [];
  for (let length = 0; length < bytes; length += JSON.stringify(items.at(-1)).length + 1) {
    items.push({ id: randomUUID(), object: 'line_item', amount: 4200, currency: 'eur', description: randomHex(10) });
  }
  return JSON.stringify({ data: items }).slice(0, bytes);
}

function randomHex(bytes: number): string {
  return randomBytes(bytes).toString('hex');
}
