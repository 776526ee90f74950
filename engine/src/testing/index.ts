// For your tests: delivers events to your app, which runs on a real Postgres and in a real workerd (setup.ts), and shows what
// became of them.
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, inject } from 'vitest';
import { signingKeyName } from '../../cli/config/dev-vars.ts';
import { type AppSamples, loadSamples, loadSources, type Sources } from '../../cli/lib/app.ts';
import { type Outside, startOutside } from '../../cli/local/outside.ts';
import { eventsIn, makeDelivery } from '../../cli/samples/delivery.ts';
import { sampleTenant } from '../../cli/samples/tenants.ts';
import { MAX_AHEAD_MS } from '../consumer/ask-handler.ts';
import type { SourceName } from '../kit/index.ts';
import { secretName } from '../receiver/secrets.ts';

/**
 * Your app, as it runs for the tests of one file.
 *
 * @example
 * const deliverTwice = async (app: App, body: object) => {
 *   await app.deliver('billing', 'invoice.paid', body);
 *   return app.deliver('billing', 'invoice.paid', body);
 * };
 */
export interface App {
  /**
   * Signs a delivery as its provider does, sends it to the receiver, and waits until the event has been worked and its
   * effects have been called. Without a body it sends the sample of the type (src/samples.ts, or else the provider's).
   * A string is sent as it is. A source with tenants needs one, which is made if it is not there: `{ tenant: 'acme' }`.
   */
  deliver(source: SourceName, type: string, body?: object | string, from?: DeliveredFrom): Promise<WorkedEvent>;
  /** The same for a batch: what became of each of its events, in their order. */
  deliverBatch(source: SourceName, type: string, body?: object | string, from?: DeliveredFrom): Promise<WorkedEvent[]>;
  /** Your database, to see what was committed. It is emptied before each test. */
  readonly db: NodePgDatabase;
  /** The time of your app's clock until the end of the test. Without it, the real time. */
  now: Date | undefined;
  /** The stand-in for other services: its `requests`, and its `answer`, which a test may replace until the end of the test. */
  readonly outside: Outside;
}

/**
 * Who sends a delivery.
 *
 * @example
 * const acme: DeliveredFrom = { tenant: 'acme' };
 */
export interface DeliveredFrom {
  readonly tenant?: string;
}

declare module 'vitest' {
  interface ProvidedContext {
    app: ProvidedApp;
  }
}

/**
 * What setup.ts has started.
 *
 * @example
 * const { databaseUrl }: ProvidedApp = inject('app');
 */
export interface ProvidedApp {
  readonly databaseUrl: string;
  /** Each test file starts its own stand-in for the outside on this port, because only the file knows what it answers. */
  readonly outsidePort: number;
  readonly receiver: { readonly url: string; readonly secrets: Record<string, string> } | { readonly problem: string };
}

/**
 * What became of an event. `pending` means that the handler failed and is tried again later.
 *
 * @example
 * const isParked = ({ status }: WorkedEvent) => status === 'parked';
 */
export interface WorkedEvent {
  readonly id: string;
  readonly status: 'pending' | 'done' | 'ignored' | 'parked';
  readonly error: string | null;
  /** In the order in which the handler returned them. */
  readonly effects: readonly CalledEffect[];
}

/**
 * What became of an effect. `pending` means that its call failed and is tried again later, or that it is for later (`sendAt`).
 *
 * @example
 * const isSent = ({ status }: CalledEffect) => status === 'sent';
 */
export interface CalledEffect {
  readonly kind: string;
  readonly payload: unknown;
  readonly status: 'pending' | 'sent' | 'parked' | 'cancelled';
  readonly error: string | null;
  /** When it is sent, if its handler wants that later. */
  readonly sendAt: Date | null;
}

/** Long enough for a slow machine. A test ends as soon as the event has been worked. */
const WORKED_WITHIN_MS = 60_000;

/**
 * Call it once in a test file, outside the tests.
 *
 * @example
 * const app = useApp();
 *
 * it('a paid invoice raises the balance', async () => {
 *   const event = await app.deliver('billing', 'invoice.paid', { id: 'inv_1', type: 'invoice.paid', cents: 4200 });
 *   expect(event).toMatchObject({ status: 'done', effects: [{ kind: 'receipt', status: 'sent' }] });
 *   expect(await app.db.select().from(accounts)).toMatchObject([{ balance: 4200 }]);
 * });
 */
export function useApp(): App {
  const { databaseUrl, outsidePort, receiver } = inject('app');
  if ('problem' in receiver) throw new Error(`the app can't be started: ${receiver.problem}`);
  const pool = new pg.Pool({ connectionString: databaseUrl });
  let outside: Outside;
  let sources: Sources;
  let own: AppSamples;
  let emptyTables = '';
  beforeAll(async () => {
    sources = await loadSources();
    own = await loadSamples();
    outside = await startOutside(outsidePort);
    // In the order in which the consumer locks them. It may still try something of the test before once more, and in any
    // other order the two could wait for each other.
    const { rows } = await pool.query<{ tables: string }>(`
      select string_agg(format('%I.%I', schemaname, tablename), ', ' order by place) as tables
      from (select *, case schemaname || '.' || tablename
          when 'webhooks.events' then 1 when 'webhooks.effects' then 3 when 'webhooks.bodies' then 4
          when 'webhooks.cancellations' then 5 else 2 end as place
        from pg_tables) as placed
      where schemaname not in ('pg_catalog', 'information_schema', 'drizzle')`);
    emptyTables = `truncate ${rows[0]?.tables} cascade`;
  });
  beforeEach(async () => {
    await pool.query(emptyTables);
    outside.requests.length = 0;
    outside.answer = own.answers;
    outside.aheadMs = 0;
  });
  afterAll(async () => {
    await outside?.close();
    await pool.end();
  });

  const deliver = async (
    name: SourceName,
    type: string,
    body: object | string | undefined,
    { tenant }: DeliveredFrom,
    isBatch: boolean,
  ) => {
    const source = sources[name];
    if (!source) throw new Error(`there is no source ${name} in src/sources.ts`);
    if ((source.tenants === true) !== (tenant !== undefined)) {
      throw new Error(tenant ? `${name} has no tenants` : `${name} has tenants: say which one, { tenant: 'acme' }`);
    }
    const { url, secrets } = receiver;
    const { segment, key = secrets[signingKeyName(name)] ?? secrets[secretName(name)] ?? '' } =
      tenant === undefined ? {} : await sampleTenant({ name, source, tenant, databaseUrl, secrets });
    const now = timeOf(outside);
    const delivery = makeDelivery({
      name,
      source,
      key,
      segment,
      receiver: url,
      samples: own.samples,
      now,
      type,
      body,
    });
    const events = await eventsIn(source, delivery, tenant);
    if (isBatch ? events.length === 0 : events.length !== 1) {
      throw new Error(
        `the body holds ${events.length} events: pass another body, or write a sample in src/samples.ts. Several take deliverBatch()`,
      );
    }
    for (const { occurredAt } of events) {
      const problem = problemOfTime(occurredAt, now);
      if (problem) console.warn(`${name} ${type}: ${problem}`);
    }
    const response = await fetch(delivery.url, { method: 'POST', headers: delivery.headers, body: delivery.body });
    if (!response.ok) throw new Error(`the receiver answered ${response.status}: ${await response.text()}`);
    return Promise.all(events.map(({ eventId }) => workedEvent(pool, name, eventId, () => timeOf(outside))));
  };
  return {
    deliver: async (source, type, body, from = {}) =>
      (await deliver(source, type, body, from, false))[0] as WorkedEvent,
    deliverBatch: (source, type, body, from = {}) => deliver(source, type, body, from, true),
    get now() {
      return outside.aheadMs === 0 ? undefined : timeOf(outside);
    },
    set now(time) {
      outside.aheadMs = time === undefined ? 0 : time.getTime() - Date.now();
    },
    get db() {
      return drizzle(pool);
    },
    get outside() {
      return outside;
    },
  };
}

/** What time it is for the Workers. */
function timeOf({ aheadMs }: Outside): Date {
  return new Date(Date.now() + aheadMs);
}

/** A handler gets another time than the body says. `undefined` if it gets that one. */
export function problemOfTime(occurredAt: Date | null, now: Date): string | undefined {
  if (occurredAt === null || occurredAt.getTime() - now.getTime() <= MAX_AHEAD_MS) return undefined;
  return `the body says that it happened at ${occurredAt.toISOString()}, which is more than a day ahead: occurredAt is the time of receipt instead`;
}

/** The outbox has no order. The event's summary names its effects as the handler returned them. */
export function inOrderOf<Effect extends { readonly name: string }>(
  summary: string | null,
  effects: readonly Effect[],
): Effect[] {
  const names = summary?.split(', ') ?? [];
  return effects.toSorted((one, other) => names.indexOf(one.name) - names.indexOf(other.name));
}

async function workedEvent(pool: pg.Pool, source: string, id: string, now: () => Date): Promise<WorkedEvent> {
  type Row<Status> = { readonly status: Status; readonly error: string | null; readonly attempts: number };
  const isWorked = ({ status, attempts }: Row<string>) => status !== 'pending' || attempts > 0;
  for (const started = Date.now(); Date.now() - started < WORKED_WITHIN_MS; ) {
    const { rows } = await pool.query<Row<WorkedEvent['status']> & { summary: string | null }>(
      'select status, last_error as error, attempts, summary from webhooks.events where (source, event_id) = ($1, $2)',
      [source, id],
    );
    const effects = await pool.query<
      Row<CalledEffect['status']> & { name: string; kind: string; payload: string; sendAt: Date | null }
    >(
      `select name, kind, payload, status, last_error as error, attempts, send_at as "sendAt" from webhooks.effects
       where (source, event_id) = ($1, $2) order by name`,
      [source, id],
    );
    const [row] = rows;
    const isForLater = ({ sendAt }: Pick<CalledEffect, 'sendAt'>) => sendAt !== null && sendAt > now();
    if (row && isWorked(row) && effects.rows.every((effect) => isWorked(effect) || isForLater(effect))) {
      const called = inOrderOf(row.summary, effects.rows).map(({ kind, payload, status, error, sendAt }) => {
        return { kind, payload: JSON.parse(payload) as unknown, status, error, sendAt };
      });
      return { id, status: row.status, error: row.error, effects: called };
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the event ${source} ${id} was not worked within ${WORKED_WITHIN_MS / 1000} s`);
}
