// What each Worker's role in Postgres may do with the engine's tables. `npm run db:roles` and every migration grant it. A
// role owns nothing, so it can neither alter nor drop a table.
import { is } from 'drizzle-orm';
import { PgTable } from 'drizzle-orm/pg-core';
import * as schema from '../../src/db/schema.ts';
import type { WorkerKind } from '../config/worker-config.ts';

type EngineTables = {
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
type RightsByTable = { readonly [Key in keyof EngineTables]: Rights<EngineTables[Key]> };

/** Receiver and consumer claim: the consumer what was forwarded. The other columns have their defaults until later. */
const CLAIM = [
  'source',
  'eventId',
  'type',
  'occurredAt',
  'receivedAt',
  'dueAt',
  'fingerprint',
  'originalId',
  'orderKey',
  'orderPlace',
  // Of a suspected replay, which is parked at once.
  'replayNumber',
  'bodyOf',
  'status',
  'failure',
  'lastError',
  'finishedAt',
] as const;

/** Strangers reach only this Worker: it adds events, and sees of the others only their keys and whether they are due. */
const receiver: RightsByTable = {
  events: {
    select: ['source', 'eventId', 'fingerprint', 'replayNumber', 'bodyOf', 'status', 'dueAt'],
    insert: CLAIM,
  },
  // The claim returns the ids that it stored.
  bodies: { select: ['eventId'], insert: 'all' },
  orderKeys: {},
  effects: {},
  cancellations: {},
  alerts: {},
  hours: {},
  reconciles: {},
  // Its secrets are sealed: without TENANTS_KEY they say nothing.
  tenants: {
    select: [
      'source',
      'tenant',
      'generation',
      'keyId',
      'sealed',
      'previousGeneration',
      'previousKeyId',
      'sealedPrevious',
      'disabledAt',
    ],
  },
  pauses: {},
};

/**
 * Loads, claims what was forwarded, completes, sends effects, and does what the cron does: sweep, prune, alerts. It may
 * delete only what is old, but Postgres can't know that: a handler's statement that names this schema is refused before
 * it gets here (engine/src/db/user-statement.ts).
 */
const consumer: RightsByTable = {
  events: {
    // Not `actions`, which names operators.
    select: [
      'source',
      'eventId',
      'originalId',
      'type',
      'occurredAt',
      'receivedAt',
      'status',
      'dueAt',
      'notBefore',
      'begunAt',
      'attempts',
      'failingSince',
      'failure',
      'summary',
      'finishedAt',
      'completions',
      'fingerprint',
      'replayNumber',
      'bodyOf',
      'orderKey',
      'orderPlace',
      'holds',
    ],
    insert: CLAIM,
    update: [
      'holds',
      'status',
      'dueAt',
      'notBefore',
      'begunAt',
      'attempts',
      'failingSince',
      'failure',
      'lastError',
      'failedPaths',
      'maxAttempts',
      'position',
      'summary',
      'finishedAt',
      'completions',
      // Those of an erased tenant.
      'orderKey',
      'actions',
    ],
    delete: true,
  },
  bodies: { select: 'all', insert: 'all', delete: true },
  orderKeys: { select: 'all', insert: 'all', update: ['turn', 'receivedAt', 'orderPlace', 'eventId'], delete: true },
  effects: {
    select: [
      'source',
      'eventId',
      'name',
      'generation',
      'kind',
      'payload',
      'status',
      'dueAt',
      'notBefore',
      'begunAt',
      'attempts',
      'failure',
      'sendAt',
      'cancelKey',
      'host',
      'failingSince',
      'slotAt',
    ],
    insert: ['source', 'eventId', 'name', 'kind', 'payload', 'dueAt', 'notBefore', 'sendAt', 'cancelKey'],
    update: [
      'status',
      'dueAt',
      'notBefore',
      'begunAt',
      'attempts',
      'maxAttempts',
      'position',
      'failure',
      'lastError',
      'sentAt',
      'host',
      'failingSince',
      'slotAt',
    ],
    delete: true,
  },
  cancellations: { select: 'all', insert: 'all', delete: true },
  alerts: { select: 'all', insert: ['condition', 'source', 'failure', 'since'], update: ['sentAt'], delete: true },
  hours: { select: 'all', insert: 'all', delete: true },
  reconciles: {
    select: 'all',
    insert: ['source', 'since'],
    update: [
      'since',
      'askedAt',
      'listed',
      'missing',
      'found',
      'foundSince',
      'foundAt',
      'confirmedKey',
      'accepted',
      'problem',
      'problemSince',
      'lastError',
      'notBefore',
      'delivered',
    ],
  },
  // Erases the events of tenants.
  tenants: { select: ['source', 'tenant', 'disabledAt', 'eraseAskedAt', 'erasedAt'], update: ['erasedAt'] },
  pauses: { select: 'all', insert: 'all', update: 'all', delete: true },
};

/** Shows everything but the payloads of effects, and changes what retry, discard, rerun, reconcile and pauses change. */
const ops: RightsByTable = {
  events: {
    select: 'all',
    update: [
      'status',
      'dueAt',
      'notBefore',
      'attempts',
      'failingSince',
      'failure',
      'lastError',
      'failedPaths',
      'position',
      'summary',
      'finishedAt',
      'completions',
      'actions',
    ],
  },
  bodies: { select: 'all' },
  orderKeys: { select: 'all' },
  effects: {
    select: [
      'source',
      'eventId',
      'name',
      'kind',
      'status',
      'dueAt',
      'notBefore',
      'attempts',
      'maxAttempts',
      'position',
      'failure',
      'lastError',
      'sendAt',
      'sentAt',
      'host',
      'failingSince',
    ],
    update: ['status', 'dueAt', 'notBefore', 'attempts', 'failingSince'],
    delete: true,
  },
  cancellations: {},
  alerts: { select: 'all' },
  hours: { select: 'all' },
  // `since`, and what lets the next tick ask.
  reconciles: { select: 'all', update: ['since', 'askedAt', 'notBefore', 'accepted'] },
  tenants: {
    select: 'all',
    insert: ['source', 'tenant', 'keyId', 'sealed', 'createdAt'],
    update: [
      'generation',
      'keyId',
      'sealed',
      'previousGeneration',
      'previousKeyId',
      'sealedPrevious',
      'disabledAt',
      'eraseAskedAt',
    ],
  },
  pauses: {
    select: 'all',
    insert: ['kind', 'host', 'pausedAt', 'pausedBy', 'changedAt'],
    update: ['pausedAt', 'pausedBy', 'probeAt', 'failing', 'backlog', 'changedAt'],
  },
};

const rights: Readonly<Record<WorkerKind, RightsByTable>> = { receiver, consumer, ops };

export const engineTables: readonly PgTable[] = Object.values(schema).filter((one) => is(one, PgTable));

/** What the role of a Worker may do, table by table. */
export function rightsOf(worker: WorkerKind): readonly (readonly [table: PgTable, rights: Rights])[] {
  const tables: EngineTables = schema;
  return (Object.keys(rights[worker]) as (keyof EngineTables)[]).map((key) => [
    tables[key],
    rights[worker][key] as Rights,
  ]);
}
