// For your tests: delivers events to your app, which runs on a real Postgres and in a real workerd (setup.ts), and shows what
// became of them.
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, inject } from 'vitest';
import { signingKeyName } from '../scripts/config/dev-vars.ts';
import { type Outside, startOutside } from '../scripts/local/outside.ts';
import { eventsIn, makeDelivery } from '../scripts/samples/delivery.ts';
import { answers } from '../src/app/samples.ts';
import { sources } from '../src/app/sources.ts';
import type { Source } from '../src/kit/index.ts';
import { secretName } from '../src/receiver/secrets.ts';

export interface App {
  /**
   * Signs a delivery as its provider does, sends it to the receiver, and waits until the handler has answered. Without a
   * body it sends the sample of the type (src/app/samples.ts, or else the provider's). A string is sent as it is.
   */
  deliver(source: keyof typeof sources & string, type: string, body?: object | string): Promise<WorkedEvent>;
  /** Your database, to see what was committed. It is emptied before each test. */
  readonly db: NodePgDatabase;
  /** The stand-in for the outside: its `requests`, and its `answer`, which a test may replace. */
  readonly outside: Outside;
}

/** What became of an event. */
export interface WorkedEvent {
  readonly id: string;
  /** `pending` says that the handler failed and is tried again later. */
  readonly status: 'pending' | 'done' | 'ignored' | 'parked';
  readonly error: string | null;
  readonly effects: readonly { readonly kind: string; readonly payload: unknown }[];
}

/** Long enough for a slow machine. A test ends as soon as the event has been worked. */
const WORKED_WITHIN_MS = 60_000;

/** Call it once in a test file, outside the tests. */
export function useApp(): App {
  const { databaseUrl, outsidePort, receiver } = inject('app');
  if ('problem' in receiver) throw new Error(`the Workers do not start: ${receiver.problem}`);
  const pool = new pg.Pool({ connectionString: databaseUrl });
  let outside: Outside;
  let emptyTables = '';
  beforeAll(async () => {
    outside = await startOutside(outsidePort);
    outside.answer = (request) => ({ json: answers(request) });
    const { rows } = await pool.query<{ tables: string }>(`
      select string_agg(format('%I.%I', schemaname, tablename), ', ') as tables from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema', 'drizzle')`);
    emptyTables = `truncate ${rows[0]?.tables} cascade`;
  });
  beforeEach(async () => {
    await pool.query(emptyTables);
    outside.requests.length = 0;
  });
  afterAll(async () => {
    await outside?.close();
    await pool.end();
  });
  return {
    deliver: (source, type, body) => deliver(receiver, pool, source, type, body),
    get db() {
      return drizzle(pool);
    },
    get outside() {
      return outside;
    },
  };
}

async function deliver(
  { url, secrets }: { readonly url: string; readonly secrets: Readonly<Record<string, string>> },
  pool: pg.Pool,
  name: string,
  type: string,
  body?: object | string,
): Promise<WorkedEvent> {
  const source = (sources as Record<string, Source>)[name];
  if (!source) throw new Error(`there is no source ${name} in src/app/sources.ts`);
  const key = secrets[signingKeyName(name)] ?? secrets[secretName(name)] ?? '';
  const delivery = makeDelivery({ name, source, key, receiver: url, type, body });
  const [event, ...more] = await eventsIn(source, delivery);
  if (!event || more.length > 0)
    throw new Error(
      `the body must hold one event, and it holds ${event ? more.length + 1 : 0}: pass another body, or write a sample in src/app/samples.ts`,
    );

  const response = await fetch(delivery.url, { method: 'POST', headers: delivery.headers, body: delivery.body });
  if (!response.ok) throw new Error(`the receiver answered ${response.status}: ${await response.text()}`);
  return workedEvent(pool, name, event.eventId);
}

async function workedEvent(pool: pg.Pool, source: string, id: string): Promise<WorkedEvent> {
  const key = [source, id];
  for (const started = Date.now(); Date.now() - started < WORKED_WITHIN_MS; ) {
    const { rows } = await pool.query<{ status: WorkedEvent['status']; error: string | null; attempts: number }>(
      'select status, last_error as error, attempts from webhooks.events where (source, event_id) = ($1, $2)',
      key,
    );
    const [row] = rows;
    if (row && (row.status !== 'pending' || row.attempts > 0)) {
      const effects = await pool.query<{ kind: string; payload: string }>(
        'select kind, payload from webhooks.effects where (source, event_id) = ($1, $2) order by name',
        key,
      );
      const parsed = effects.rows.map(({ kind, payload }) => ({ kind, payload: JSON.parse(payload) as unknown }));
      return { id, status: row.status, error: row.error, effects: parsed };
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the event ${source} ${id} was not worked within ${WORKED_WITHIN_MS / 1000} s`);
}
