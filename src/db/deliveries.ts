import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import { webhookDeliveries as deliveries } from './schema.ts';

export interface DeliveryCount {
  readonly source: string;
  readonly outcome: string;
  readonly count: number;
}

const column = columnNames(deliveries);

/** Adds to the numbers of deliveries. In the order of their keys, so that two isolates can't deadlock. */
export async function addDeliveries(db: Database, counts: readonly DeliveryCount[]): Promise<void> {
  if (counts.length === 0) return;
  const values = <T>(read: (count: DeliveryCount) => T) => sql.param(counts.map(read));
  await run(
    db,
    sql`
    insert into ${deliveries} (${column.source}, ${column.outcome}, ${column.count})
    select * from unnest(${values(({ source }) => source)}::text[], ${values(({ outcome }) => outcome)}::text[],
                         ${values(({ count }) => count)}::bigint[]) as added (source, outcome, count)
    order by source, outcome
    on conflict (${column.source}, ${column.outcome})
      do update set ${column.count} = ${deliveries.count} + excluded.count`,
  );
}
