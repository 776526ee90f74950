// A program: `node engine/bench/peers/wire.ts <URL of Postgres> <connections>`. One transaction per event over
// PostgreSQL's own protocol: begin, the row that marks the event as done, the two changes, commit. It doesn't load
// payloads.

import pg from 'pg';
import { invoiceOf } from '../invoices.ts';
import { INCREMENT, UPSERT } from './statements.ts';

const [url, connections] = process.argv.slice(2);

export interface WireJob {
  readonly events: number;
  readonly customers: number;
}

const pool = new pg.Pool({ connectionString: url ?? '', max: Number(connections) });

/** A handwritten guard against a second run, which fails if the event is already done. */
const COMPLETE = `insert into bench.done (source, event_id) values ($1, $2)`;

process.on('message', (job: WireJob) => void drain(job).then(() => process.send?.('drained')));
process.send?.('ready');

async function drain({ events, customers }: WireJob): Promise<void> {
  const clients = await Promise.all(Array.from({ length: Number(connections) }, () => pool.connect()));
  let next = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (next < events) {
        const { id, customer, amount } = invoiceOf(next++, customers);
        await client.query('begin');
        await client.query(COMPLETE, ['bench', id]);
        await client.query(UPSERT, [id, customer, amount]);
        await client.query(INCREMENT, [customer, amount]);
        await client.query('commit');
      }
    }),
  );
  for (const client of clients) client.release();
}
