// What each Worker's role in Postgres may do with our tables. `npm run db:roles` and every migration grant it. A role owns
// nothing, so it can neither alter nor drop a table. No Worker imports this file.
import { is } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import * as schema from './schema.ts';

export type WorkerKind = 'receiver' | 'consumer';

type OurTables = {
  [Key in keyof typeof schema as (typeof schema)[Key] extends PgTable ? Key : never]: (typeof schema)[Key];
};

/** For `all`, a column that is added later is included. */
type Columns<Table extends PgTable> = 'all' | readonly (keyof Table['_']['columns'] & string)[];

export interface Rights<Table extends PgTable = PgTable> {
  readonly select?: Columns<Table>;
  readonly insert?: Columns<Table>;
  readonly update?: Columns<Table>;
  readonly delete?: true;
}

/** Every table must be listed, so that a new one can't be forgotten. */
type RightsByTable = { readonly [Key in keyof OurTables]: Rights<OurTables[Key]> };

/** Both Workers claim: the consumer claims what was forwarded. The other columns have their defaults until later. */
const CLAIM = [
  'source',
  'eventId',
  'type',
  'occurredAt',
  'receivedAt',
  'dueAt',
  'fingerprint',
  // Of a suspected replay, which is parked at once.
  'replayNumber',
  'status',
  'lastError',
  'finishedAt',
] as const;

/** Claims, sweeps, prunes, alerts, and serves the console. What was received can't be changed, only deleted. */
const receiver: RightsByTable = {
  webhookEvents: {
    select: 'all',
    insert: CLAIM,
    // The sweep needs `dueAt`. The operator's retry, discard and rerun need the others.
    update: [
      'status',
      'dueAt',
      'notBefore',
      'attempts',
      'lastError',
      'summary',
      'finishedAt',
      'completions',
      'actions',
    ],
    delete: true,
  },
  webhookBodies: { select: 'all', insert: 'all', delete: true },
  webhookEffects: {
    // Not the payload: only the consumer sends it.
    select: ['source', 'eventId', 'name', 'kind', 'status', 'dueAt', 'attempts', 'lastError', 'sentAt'],
    update: ['status', 'dueAt', 'attempts'],
    delete: true,
  },
  webhookAlerts: {
    select: 'all',
    insert: ['condition', 'source', 'error', 'since'],
    update: ['sentAt'],
    delete: true,
  },
  webhookHours: { select: 'all', insert: 'all', delete: true },
  webhookDeliveries: { select: 'all', insert: 'all', update: ['count'] },
};

/** Loads, claims what was forwarded, completes, and sends effects. It deletes nothing of ours. */
const consumer: RightsByTable = {
  webhookEvents: {
    // Not `actions`, which names operators, and not what was said about the event's earlier runs.
    select: [
      'source',
      'eventId',
      'type',
      'occurredAt',
      'receivedAt',
      'status',
      'dueAt',
      'notBefore',
      'attempts',
      'completions',
      'fingerprint',
      'replayNumber',
    ],
    insert: CLAIM,
    update: ['status', 'dueAt', 'notBefore', 'attempts', 'lastError', 'summary', 'finishedAt', 'completions'],
  },
  webhookBodies: { select: 'all', insert: 'all' },
  webhookEffects: {
    select: ['source', 'eventId', 'name', 'kind', 'payload', 'status', 'attempts'],
    // The consumer of the version before names every column, and may come back by a rollback.
    insert: 'all',
    update: ['status', 'dueAt', 'attempts', 'lastError', 'sentAt'],
  },
  webhookAlerts: {},
  webhookHours: {},
  webhookDeliveries: {},
};

const rights: Readonly<Record<WorkerKind, RightsByTable>> = { receiver, consumer };

/** Our tables. Every other table of the database's owner is the app's. */
export const ourTables: readonly PgTable[] = Object.values(schema).filter((one) => is(one, PgTable));

/** What the role of a Worker may do, table by table. */
export function rightsOf(worker: WorkerKind): readonly (readonly [table: PgTable, rights: Rights])[] {
  const tables: OurTables = schema;
  return (Object.keys(rights[worker]) as (keyof OurTables)[]).map((key) => [
    tables[key],
    rights[worker][key] as Rights,
  ]);
}
