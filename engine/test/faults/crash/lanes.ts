import { connect } from '../../../cli/database/connect.ts';
import { migrate } from '../../../cli/database/migrations.ts';
import { createWorkerRoles } from '../../../cli/database/worker-roles.ts';
import type { Stack } from '../../../cli/local/stack.ts';
import { createDatabase } from '../../../cli/local/stack.ts';
import { createFixtureTables } from '../../fixture/database.ts';

export type Sql = <Row extends object>(query: string, params?: unknown[]) => Promise<Row[]>;

/** A database for one trial at a time. */
export interface Lane {
  /** Each Worker's, with its role. The host is not on loopback, so nothing of what is only for development is switched on. */
  readonly databaseUrls: { readonly receiver: string; readonly consumer: string };
  /** Over TCP, beside the Workers' way. */
  readonly sql: Sql;
  close(): Promise<void>;
}

/** Enough that some trials go on while others wait for a second, as the code does before it asks Postgres again. */
const LANES = 6;

export async function openLanes(stack: Stack): Promise<Lane[]> {
  const lanes: Lane[] = [];
  for (let number = 1; number <= LANES; number++) lanes.push(await openLane(stack, `lane_${number}`));
  return lanes;
}

export async function openLane(stack: Stack, name: string): Promise<Lane> {
  const url = new URL(stack.databaseUrl);
  await createDatabase(url, name);
  url.pathname = name;
  await migrate(url.href);
  const { receiver = '', consumer = '' } = (await createWorkerRoles(url.href, { rotate: [] })).urls;
  await createFixtureTables(url.href);
  const client = await connect(url.href);
  const elsewhere = (workerUrl: string) => Object.assign(new URL(workerUrl), { host: 'neon.example.com' }).href;
  return {
    databaseUrls: { receiver: elsewhere(receiver), consumer: elsewhere(consumer) },
    sql: async <Row extends object>(query: string, params: unknown[] = []) =>
      (await client.query<Row>(query, params)).rows,
    close: () => client.end(),
  };
}

/** Does all the work, each in the first lane that is free. */
export async function inLanes<Item>(
  lanes: readonly Lane[],
  items: readonly Item[],
  work: (item: Item, lane: Lane) => Promise<void>,
): Promise<void> {
  const rest = items.values();
  const worker = async (lane: Lane) => {
    for (const item of rest) await work(item, lane);
  };
  await Promise.all(lanes.map(worker));
}
