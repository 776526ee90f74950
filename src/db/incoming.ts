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

const bodyColumn = columnNames(webhookBodies);

/** The columns of `webhook_bodies` in the order in which every claim fills them. */
export const BODY_COLUMNS = sql`
  ${bodyColumn.source}, ${bodyColumn.eventId}, ${bodyColumn.body}, ${bodyColumn.headers}, ${bodyColumn.receivedAt}`;

/** The events of a delivery as rows: `id`, `type`, `occurred_at`, `fingerprint`, `body`. */
export function incomingRows(events: readonly Claimable[]): SQL {
  const column = <T>(read: (event: Claimable) => T) => sql.param(events.map(read));
  return sql`
      select * from unnest(
        ${column((event) => event.eventId)}::text[],
        ${column((event) => event.type)}::text[],
        ${column((event) => event.occurredAt?.toISOString() ?? null)}::timestamptz[],
        ${column((event) => event.fingerprint)}::text[],
        ${column((event) => event.body)}::text[]
      ) as incoming (id, type, occurred_at, fingerprint, body)`;
}

/** Keeps the bodies of those rows of `incoming` that are in `claimed`. */
export function insertBodies(source: string, headers: Record<string, string>, now: Date): SQL {
  return sql`
      insert into ${webhookBodies} (${BODY_COLUMNS})
      select ${source}, id, body, ${JSON.stringify(headers)}::jsonb, ${now.toISOString()}::timestamptz
      from incoming join claimed using (id)
      on conflict do nothing`;
}
