import { bundle } from './bundle.ts';
import type { BenchDatabase } from './database.ts';
import { bodySql, totalOf } from './invoices.ts';
import type { Measured } from './rows.ts';
import { startWorkerd } from './workerd.ts';
import type { handlers } from './workers/consumer.ts';
import type { Job } from './workers/queue.ts';

/** The events of one measurement. */
export interface Work {
  readonly events: number;
  /** The number of rows that all events increment. */
  readonly customers: number;
  /** Concurrent batches of the queue, and tickets in each. Peers have no batches and a fixed concurrency. */
  readonly consumers: number;
  readonly batch: number;
  /** The type of all events, which selects the handler. Peers have only one handler. */
  readonly type: keyof typeof handlers;
  /** The number of order keys, if the events have any. */
  readonly keys?: number;
  /**
   * How often each ticket has been delivered, including this time. Postgres has no record of deliveries during an
   * outage.
   */
  readonly deliveries: number;
}

/** A program that works all events. */
export interface Drainer extends AsyncDisposable {
  readonly name: string;
  /** Throws if an event was not worked, or was worked twice. */
  drain(work: Work): Promise<Measured>;
}

/** Creates tables in a separate schema, which no migration contains. */
export async function createTables({ client }: BenchDatabase): Promise<void> {
  await client.query(`
    create schema bench;
    create table bench.invoices (id text primary key, customer text not null, amount bigint not null);
    create table bench.balances (customer text primary key, balance bigint not null);
    create table bench.done (source text, event_id text, primary key (source, event_id))`);
}

export const CONSUMER_VARS = {
  EVENTS_QUEUE: 'events',
  EVENTS_DEAD_QUEUE: 'events-dead',
  EFFECTS_QUEUE: 'effects',
  EFFECTS_DEAD_QUEUE: 'effects-dead',
};

/** The deployed consumer in workerd. The queue is in the same process, so the CPU time includes it. */
export async function startClaimcheck(database: BenchDatabase): Promise<Drainer> {
  const vars = { DATABASE_URL: database.url, ...CONSUMER_VARS };
  const workerd = await startWorkerd({
    queue: {
      script: bundle('engine/bench/workers/queue.ts').script,
      services: { CONSUMER: 'consumer' },
      flags: ['service_binding_extra_handlers'],
    },
    consumer: {
      script: bundle('engine/bench/workers/consumer.ts', 'consumer').script,
      vars,
      queues: { EVENTS: 'queue', EFFECTS: 'sink' },
    },
    sink: { script: bundle('engine/bench/workers/sink.ts').script },
  });
  return {
    name: 'claimcheck',
    async drain({ events, customers, consumers, batch, type, keys, deliveries }) {
      const job: Job = { events, batch, consumers, deliveries };
      await emptyTables(database);
      await addEvents(database, events, customers, type, keys);
      const measured = await measure(events, workerd.cpu, database, async () => {
        const response = await fetch(workerd.url, { method: 'POST', body: JSON.stringify(job) });
        if (!response.ok) throw new Error(`the queue ended with ${response.status}`);
      });
      await checkChanges(database, events);
      await checkLedger(database, events, type === 'paid, with an effect');
      return measured;
    },
    [Symbol.asyncDispose]: workerd[Symbol.asyncDispose],
  };
}

/** Measures a drain. `cpu` is the contender's CPU time without Postgres. */
export async function measure(
  events: number,
  cpu: () => number,
  database: BenchDatabase,
  work: () => Promise<unknown>,
): Promise<Measured> {
  const started = performance.now();
  const own = cpu();
  const postgres = database.cpu();
  await work();
  const seconds = (performance.now() - started) / 1000;
  return {
    'events/s': events / seconds,
    'CPU ms per event': (cpu() - own) / events,
    'CPU ms per event in Postgres': (database.cpu() - postgres) / events,
  };
}

export async function emptyTables({ client }: BenchDatabase): Promise<void> {
  await client.query(
    'truncate webhooks.events, webhooks.order_keys, bench.invoices, bench.balances, bench.done cascade',
  );
}

/** Inserts the rows that the receiver would have written. */
async function addEvents(
  database: BenchDatabase,
  events: number,
  customers: number,
  type: string,
  keys?: number,
): Promise<void> {
  const { client } = database;
  await client.query(
    `insert into webhooks.events (source, event_id, type, received_at, due_at, order_key, order_place)
     select 'bench', 'evt_' || n, $2, now() + n * interval '1 ms', now() + interval '10 minutes',
       case when $3::int > 0 then 'key_' || n % $3::int end, case when $3::int > 0 then 0 end
     from generate_series(0, $1::int - 1) n`,
    [events, type, keys ?? 0],
  );
  await client.query(
    `insert into webhooks.bodies (source, event_id, body, headers, received_at)
     select 'bench', 'evt_' || n, ${bodySql('$2::int')}, '{}', now() from generate_series(0, $1::int - 1) n`,
    [events, customers],
  );
  await settle(database);
}

/** Runs vacuum and a checkpoint now, because otherwise they could run during a measurement. */
export async function settle({ client }: BenchDatabase): Promise<void> {
  await client.query('vacuum analyze');
}

/** Checks that each event has changed its two rows once. */
export async function checkChanges({ client }: BenchDatabase, events: number): Promise<void> {
  const { rows } = await client.query(
    'select (select count(*) from bench.invoices)::int as invoices, (select sum(balance) from bench.balances)::int as total',
  );
  const [found] = rows as { invoices: number; total: number }[];
  if (found?.invoices !== events || found.total !== totalOf(events)) {
    throw new Error(`the changes of ${events} events are not exact: ${JSON.stringify(found)}`);
  }
}

/** Checks that each event is done after one attempt and has its effect. */
async function checkLedger({ client }: BenchDatabase, events: number, effect: boolean): Promise<void> {
  const { rows } = await client.query(
    `select (select count(*) from webhooks.events where status = 'done' and completions = 1 and attempts = 1)::int as done,
            (select count(*) from webhooks.effects)::int as effects`,
  );
  const [found] = rows as { done: number; effects: number }[];
  if (found?.done !== events || found.effects !== (effect ? events : 0)) {
    throw new Error(`${events} events are not done once: ${JSON.stringify(found)}`);
  }
}
