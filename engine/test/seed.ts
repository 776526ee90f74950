import type { TestDatabase } from './database.ts';

type Row = Readonly<Record<string, unknown>>;
type Counts<Status extends string> = { readonly [One in Status]?: number };

interface Events extends Counts<'pending' | 'done' | 'ignored' | 'parked'> {
  /** The first effect of each status is that of the first event, and so on. */
  readonly effects?: Counts<'pending' | 'sent' | 'parked'>;
}

interface Details {
  /** When the events were finished, an hour after they had come. */
  readonly at: Date;
  /** Columns of every event, and of every effect, that differ from those below. */
  readonly event?: Row;
  readonly effect?: Row;
  /** Without it, the bodies have been pruned. */
  readonly body?: string;
}

/** Writes events `parked_1`, `done_1` … of the source `stripe`, each a second older than the one before, and their effects. */
export async function seed(
  { sql }: Pick<TestDatabase, 'sql'>,
  { effects: effectCounts = {}, ...counts }: Events,
  { at, event, effect, body }: Details,
): Promise<void> {
  const events = each(counts).map(({ status, number }, n) => ({
    source: 'stripe',
    event_id: `${status}_${number}`,
    type: 'paid',
    status,
    received_at: new Date(at.getTime() - 3_600_000 - n * 1000),
    due_at: at,
    finished_at: status === 'pending' ? null : at,
    attempts: 1,
    completions: Number(status === 'done'),
    failure: status === 'parked' ? 'handler' : null,
    last_error: status === 'parked' ? 'Error: no' : null,
    ...event,
  }));
  const effects = each(effectCounts).map(({ status, number }) => ({
    source: events[number - 1]?.source,
    event_id: events[number - 1]?.event_id,
    name: status,
    kind: 'mail',
    payload: '{}',
    status,
    due_at: at,
    sent_at: status === 'sent' ? at : null,
    failure: status === 'parked' ? 'response' : null,
    last_error: status === 'parked' ? 'HttpError: HTTP 410' : null,
    ...effect,
  }));
  const bodies = events.map(({ source, event_id, received_at }) => ({
    source,
    event_id,
    body,
    headers: {},
    received_at,
  }));
  await insertRows(sql, { events, bodies: body === undefined ? [] : bodies, effects });
}

/** Rows of a table all have the same columns. */
export async function insertRows(
  sql: TestDatabase['sql'],
  tables: Readonly<Record<'events' | 'bodies' | 'effects', readonly Row[]>>,
): Promise<void> {
  for (const [table, rows] of Object.entries(tables)) {
    const columns = Object.keys(rows[0] ?? {});
    const records = `jsonb_populate_recordset(null::webhooks.${table}, $1)`;
    if (rows.length > 0)
      await sql(`insert into webhooks.${table} (${columns}) select ${columns} from ${records}`, [JSON.stringify(rows)]);
  }
}

function each(counts: Counts<string>): { readonly status: string; readonly number: number }[] {
  return Object.entries(counts).flatMap(([status, count = 0]) =>
    Array.from({ length: count }, (_, n) => ({ status, number: n + 1 })),
  );
}
