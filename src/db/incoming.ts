import { type SQL, sql } from 'drizzle-orm';
import { columnNames } from './columns.ts';
import { webhookBodies } from './schema.ts';

/** An event of a verified delivery, ready to be claimed. */
export interface Claimable {
  readonly eventId: string;
  readonly type: string | null;
  readonly occurredAt: Date | null;
  readonly fingerprint: string | null;
  readonly body: string;
}

/**
 * The parameters of every claim, by their numbers, so that its text is built once: Drizzle takes longer to build a
 * statement than a Worker needs for the rest of a delivery. With many events, those of an event are lists.
 */
export const param = {
  source: sql.raw('$1'),
  headers: sql.raw('$2'),
  now: sql.raw('$3'),
  dueAt: sql.raw('$4'),
  id: sql.raw('$5'),
  type: sql.raw('$6'),
  occurredAt: sql.raw('$7'),
  fingerprint: sql.raw('$8'),
  body: sql.raw('$9'),
};

/** What the events of a delivery have in common: the values of the first four parameters. */
export interface SharedValues {
  readonly source: string;
  readonly headers: Record<string, string>;
  readonly now: Date;
  readonly dueAt: Date;
}

export function paramsOfOne({ source, headers, now, dueAt }: SharedValues, event: Claimable): unknown[] {
  const { eventId, type, occurredAt, fingerprint, body } = event;
  return [source, headers, now, dueAt, eventId, type, occurredAt, fingerprint, body];
}

export function paramsOfMany({ source, headers, now, dueAt }: SharedValues, events: readonly Claimable[]): unknown[] {
  return [
    source,
    headers,
    now,
    dueAt,
    events.map(({ eventId }) => eventId),
    events.map(({ type }) => type),
    events.map(({ occurredAt }) => occurredAt),
    events.map(({ fingerprint }) => fingerprint),
    events.map(({ body }) => body),
  ];
}

const bodyColumn = columnNames(webhookBodies);

/** The columns of `webhook_bodies` in the order in which every claim fills them. */
export const BODY_COLUMNS = sql`
  ${bodyColumn.source}, ${bodyColumn.eventId}, ${bodyColumn.body}, ${bodyColumn.headers}, ${bodyColumn.receivedAt}`;

/** Many events as rows: `id`, `type`, `occurred_at`, `fingerprint`, `body`. */
export const INCOMING_ROWS: SQL = sql`
      select * from unnest(
        ${param.id}::text[], ${param.type}::text[], ${param.occurredAt}::timestamptz[], ${param.fingerprint}::text[],
        ${param.body}::text[]
      ) as incoming (id, type, occurred_at, fingerprint, body)`;

/** Keeps the bodies of those rows of `incoming` that are in `claimed`. */
export const INSERT_BODIES: SQL = sql`
      insert into ${webhookBodies} (${BODY_COLUMNS})
      select ${param.source}, id, body, ${param.headers}::jsonb, ${param.now}::timestamptz
      from incoming join claimed using (id)
      on conflict do nothing`;
