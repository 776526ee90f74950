import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
} from 'drizzle-orm/pg-core';

const time = (name: string) => timestamp(name, { withTimezone: true });

/** The name of the gate (see the check below). An error with this name says that an event has been completed before. */
export const COMPLETED_AT_MOST_ONCE = 'completed_at_most_once';

/** The name of the replay guard (see the index below). An error with this name says that a replay key is known. */
export const REPLAY_GUARD = 'webhook_events_fingerprint';

/** The ledger: one row per event. The row is the claim, and the receipt behind every 200. */
export const webhookEvents = pgTable(
  'webhook_events',
  {
    source: text('source').notNull(),
    eventId: text('event_id').notNull(),
    type: text('type'),
    occurredAt: time('occurred_at'),
    receivedAt: time('received_at').notNull(),
    status: text('status', { enum: ['pending', 'done', 'ignored', 'parked'] })
      .notNull()
      .default('pending'),
    /** When a pending event should next be looked at, in case its ticket is lost. */
    dueAt: time('due_at').notNull(),
    /** A failed event is not tried again before then, even if another ticket comes. The sweep moves only `due_at`. */
    notBefore: time('not_before'),
    attempts: integer('attempts').notNull().default(0),
    lastError: text('last_error'),
    summary: text('summary'),
    finishedAt: time('finished_at'),
    completions: integer('completions').notNull().default(0),
    /** The hashed replay key: usually the SHA-256 of the body, if the provider doesn't sign its id. */
    fingerprint: text('fingerprint'),
    /** 0 for the first event with its fingerprint. A suspected replay has a number of its own, so that it can be kept. */
    replayNumber: integer('replay_number').notNull().default(0),
    /** What operators did to the event, oldest first. Null, and so without cost, until somebody does something. */
    actions: jsonb('actions').$type<{ at: string; who: string; action: string; reason: string | null }[]>(),
  },
  (table) => [
    primaryKey({ columns: [table.source, table.eventId] }),
    // The gate: a second completion of an event breaks this check, so its whole transaction is rolled back.
    check(COMPLETED_AT_MOST_ONCE, sql`${table.completions} <= 1`),
    check('known_status', sql`${table.status} in ('pending', 'done', 'ignored', 'parked')`),
    // The replay guard: of concurrent deliveries with one fingerprint, only one can be the first.
    uniqueIndex(REPLAY_GUARD)
      .on(table.source, table.fingerprint, table.replayNumber)
      .where(sql`fingerprint is not null`),
    // Every claim writes into this index, so it holds only pending events: the completion removes the entry.
    index('webhook_events_due').on(table.dueAt).where(sql`status = 'pending'`),
    // For pruning by age, and for the console. The times only grow, so every claim writes to the last page of the index.
    index('webhook_events_received').on(table.receivedAt),
    // Only parked events are in it, so it costs nothing until an event is parked.
    index('webhook_events_parked').on(table.receivedAt).where(sql`status = 'parked'`),
  ],
);

/** The raw body, as text: jsonb rejects \u0000 and lone surrogates, so a valid event could never be claimed. */
export const webhookBodies = pgTable(
  'webhook_bodies',
  {
    source: text('source').notNull(),
    eventId: text('event_id').notNull(),
    body: text('body').notNull(),
    headers: jsonb('headers').$type<Record<string, string>>().notNull(),
    receivedAt: time('received_at').notNull(),
  },
  (table) => [
    index('webhook_bodies_received').on(table.receivedAt),
    primaryKey({ columns: [table.source, table.eventId] }),
    foreignKey({
      name: 'webhook_bodies_event',
      columns: [table.source, table.eventId],
      foreignColumns: [webhookEvents.source, webhookEvents.eventId],
    }).onDelete('cascade'),
  ],
);

/** The outbox: one row per call to the outside, written in the transaction that completes its event. */
export const webhookEffects = pgTable(
  'webhook_effects',
  {
    source: text('source').notNull(),
    eventId: text('event_id').notNull(),
    name: text('name').notNull(),
    kind: text('kind').notNull(),
    /** JSON, kept as text for the same reason as a body. */
    payload: text('payload').notNull(),
    status: text('status', { enum: ['pending', 'sent', 'parked'] })
      .notNull()
      .default('pending'),
    dueAt: time('due_at').notNull(),
    attempts: integer('attempts').notNull().default(0),
    lastError: text('last_error'),
    sentAt: time('sent_at'),
  },
  (table) => [
    primaryKey({ columns: [table.source, table.eventId, table.name] }),
    check('known_effect_status', sql`${table.status} in ('pending', 'sent', 'parked')`),
    foreignKey({
      name: 'webhook_effects_event',
      columns: [table.source, table.eventId],
      foreignColumns: [webhookEvents.source, webhookEvents.eventId],
    }).onDelete('cascade'),
    index('webhook_effects_due').on(table.dueAt).where(sql`status = 'pending'`),
    // Only parked effects are in it. Without it, every look at what is parked would read the whole table.
    index('webhook_effects_parked').on(table.source, table.eventId).where(sql`status = 'parked'`),
    // For the number of effects sent in the last day. A BRIN index has one entry for 128 pages of rows.
    index('webhook_effects_sent').using('brin', table.sentAt),
  ],
);

/** One row for each condition that an operator is, or is about to be, alerted about. It is deleted when that is over. */
export const webhookAlerts = pgTable(
  'webhook_alerts',
  {
    condition: text('condition', { enum: ['parked', 'dead_letter', 'pending', 'silent'] }).notNull(),
    source: text('source').notNull(),
    /** The class of the error that parked the events, so that a new kind of failure is a new alert. Otherwise empty. */
    error: text('error').notNull(),
    /** When the cron first saw it. */
    since: time('since').notNull(),
    /** When the alert endpoint accepted the alert. */
    sentAt: time('sent_at'),
  },
  (table) => [primaryKey({ columns: [table.condition, table.source, table.error] })],
);

/** The hours in which a source sent an event. They say how long it is usually silent, without a scan of all events. */
export const webhookHours = pgTable(
  'webhook_hours',
  {
    source: text('source').notNull(),
    hour: time('hour').notNull(),
  },
  (table) => [primaryKey({ columns: [table.source, table.hour] })],
);

/** Deliveries by what became of them, for the metrics. A refused delivery leaves no other trace in Postgres. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    source: text('source').notNull(),
    outcome: text('outcome').notNull(),
    count: bigint('count', { mode: 'number' }).notNull(),
  },
  (table) => [primaryKey({ columns: [table.source, table.outcome] })],
);
