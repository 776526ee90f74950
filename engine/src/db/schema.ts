import { sql } from 'drizzle-orm';
import {
  boolean,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  pgSchema,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';

/** The engine's own schema. Your tables are in `public`, so no name can collide, and rights are granted by schema. */
export const webhooks = pgSchema('webhooks');

const time = (name: string) => timestamp(name, { withTimezone: true });

/** The name of the check below. An error with this name says that an event has been completed before. */
export const COMPLETED_AT_MOST_ONCE = 'completed_at_most_once';

/** The name of the unique index below. An error with this name says that another event has the same replay key. */
export const FINGERPRINT_ONCE = 'fingerprint_once';

/** The name of the unique index below. An error with this name says that another effect of the kind has the key of this one. */
export const EFFECT_KEY_ONCE = 'effect_key_once';

/** How long a ticket may take before the sweep sends another: longer than a usual backlog, shorter than the sweep's interval. */
export const TICKET_GRACE_MS = 10 * 60_000;

/** The name of the check below. An error with this name says that another run has worked an event of the order key. */
export const TURN_WAS_KEPT = 'turn_was_kept';

/** Why the last attempt of an event or of an effect failed. The sentence in `last_error` is for people; code reads this. */
export const FAILURES = [
  /** The handler or the effect threw an error. */
  'handler',
  /** It threw PermanentError. */
  'permanent',
  /** It threw RetryLater. */
  'retry_later',
  /** The payload doesn't match the schema of the handler or of the effect, or is not JSON. */
  'schema',
  /** The handler returned something that can't be committed, or the effect something that is no answer. */
  'changes',
  /** It took too long. */
  'time_limit',
  /** The other side answered with an error. */
  'response',
  /** Postgres refused the changes. */
  'database',
  /** There is no handler for an event that somebody wants, or no effect of this kind, in src. */
  'no_handler',
  /** The body was deleted before the event could be worked. */
  'body_gone',
  /** A suspected replay: another event has the same replay key. */
  'replay',
  /** The queue gave its ticket up, as when a handler kills its isolate. */
  'poison',
] as const;
export type Failure = (typeof FAILURES)[number];

/** For somebody who reads an alert or a page without the documentation. */
export const MEANING: Readonly<Record<Failure, string>> = {
  handler: 'the code threw an error',
  permanent: 'the code threw a PermanentError',
  retry_later: 'the code still asked to wait at the last attempt',
  schema: "the payload doesn't match the schema",
  changes: 'the code returned what cannot be used',
  time_limit: 'it took too long',
  response: 'the other side answered with an error',
  database: 'Postgres refused a statement',
  no_handler: 'the code has no handler or effect for it',
  body_gone: 'the body was deleted before it was worked',
  replay: 'suspected replays',
  poison: 'the queue gave up on the tickets',
};

/** What an operator may do with what is parked (retry, discard), and with what is finished (rerun). */
export const ACTIONS = ['retry', 'discard', 'rerun'] as const;
export type ActionName = (typeof ACTIONS)[number];

const EVENT_STATUSES = ['pending', 'done', 'ignored', 'parked'] as const;
const EFFECT_STATUSES = ['pending', 'sent', 'parked', 'cancelled'] as const;

/** A list of texts for a check: constraints take no parameters. */
const listed = (texts: readonly string[]) => sql.raw(texts.map((one) => `'${one}'`).join(', '));

/** The ledger: one row per event. The row is the claim. An event that was forwarded to the queue gets it after the 200. */
export const events = webhooks.table(
  'events',
  {
    source: text('source').notNull(),
    eventId: text('event_id').notNull(),
    /** The id as the provider sent it, if another event has it: then `event_id` is a hash (claim.ts). Otherwise null. */
    originalId: text('original_id'),
    type: text('type'),
    occurredAt: time('occurred_at'),
    receivedAt: time('received_at').notNull(),
    status: text('status', { enum: EVENT_STATUSES }).notNull().default('pending'),
    /** When a pending event should next be looked at, in case its ticket is lost. */
    dueAt: time('due_at').notNull(),
    /** A failed event is not tried again before then, even if another ticket comes. The sweep moves only `due_at`. */
    notBefore: time('not_before'),
    /**
     * When a group of redelivered tickets with this one was begun, and null once its work has ended. If it is set, the
     * work never ended, as when a handler kills its isolate: then the event is worked alone.
     */
    begunAt: time('begun_at'),
    attempts: integer('attempts').notNull().default(0),
    /** After how many attempts it would be parked, as of its last failure. */
    maxAttempts: integer('max_attempts'),
    /** Where the error of its last failure was thrown. */
    position: text('position'),
    failure: text('failure', { enum: FAILURES }),
    lastError: text('last_error'),
    /** Of the failure `schema`: the paths in the body that don't match. */
    failedPaths: jsonb('failed_paths').$type<readonly string[]>(),
    summary: text('summary'),
    finishedAt: time('finished_at'),
    completions: integer('completions').notNull().default(0),
    /** The SHA-256 of the replay key: what may be seen only once although the id differs. Usually this is the body. */
    fingerprint: text('fingerprint'),
    /** 0 for the first event with its fingerprint. A suspected replay has a random number, so that it can be kept. */
    replayNumber: integer('replay_number').notNull().default(0),
    /** Which event of the source holds the body of this suspected replay, if it is not stored a second time. */
    bodyOf: text('body_of'),
    /** Events of one source with the same order key are worked one at a time, in order. Null: in any order. */
    orderKey: text('order_key'),
    /** The place of the event in the body of its delivery. Null without an order key. */
    orderPlace: integer('order_place'),
    /** Since when its handler has failed because of an other side. Null if it has not. */
    failingSince: time('failing_since'),
    /** Whether later events with its order key wait for this event while it is parked. */
    holds: boolean('holds'),
    /**
     * What operators did to the event, oldest first, with what it overwrote and the effects that it was about. Null, and
     * so without cost, until somebody does something.
     */
    actions:
      jsonb('actions').$type<
        {
          at: string;
          who: string;
          action: ActionName;
          reason: string | null;
          was?: object;
          effects?: string[];
        }[]
      >(),
  },
  (table) => [
    primaryKey({ columns: [table.source, table.eventId] }),
    // A second completion of an event breaks this check, so its whole transaction is rolled back. A number below zero
    // would let several completions through.
    check(COMPLETED_AT_MOST_ONCE, sql`${table.completions} between 0 and 1`),
    check('known_status', sql`${table.status} in (${listed(EVENT_STATUSES)})`),
    check('known_failure', sql`${table.failure} in (${listed(FAILURES)})`),
    // Of concurrent deliveries with one fingerprint, only one can be the first.
    uniqueIndex(FINGERPRINT_ONCE)
      .on(table.source, table.fingerprint, table.replayNumber)
      .where(sql`fingerprint is not null`),
    // Every claim writes into this index, so it holds only pending events: the completion removes the entry.
    index('events_due').on(table.dueAt).where(sql`status = 'pending'`),
    // For pruning by age, and for the console. The times only grow, so every claim writes to the last page of the index.
    index('events_received').on(table.receivedAt),
    // Only unfinished events with an order key are in it. Its condition is that of `isInLine` (order.ts).
    index('events_in_line')
      .on(table.source, table.orderKey, table.receivedAt, table.orderPlace, table.eventId)
      .where(sql`order_key is not null and (status = 'pending' or (status = 'parked' and holds))`),
    // Only parked events are in it, so it costs nothing until an event is parked.
    index('events_parked').on(table.receivedAt).where(sql`status = 'parked'`),
    // Only suspected replays without a body of their own are in it. Pruning asks whether a body is still needed.
    index('events_body_of').on(table.source, table.bodyOf).where(sql`body_of is not null`),
  ],
);

/** One row for each order key of which an event was worked. */
export const orderKeys = webhooks.table(
  'order_keys',
  {
    source: text('source').notNull(),
    orderKey: text('order_key').notNull(),
    /** Another one after each completion, so that no run completes an event after another run has worked the key. */
    turn: uuid('turn').notNull(),
    /** The last of its events that was worked, in the order of `PLACE` (order.ts). */
    receivedAt: time('received_at').notNull(),
    orderPlace: integer('order_place').notNull(),
    eventId: text('event_id').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.source, table.orderKey] }),
    check(TURN_WAS_KEPT, sql`${table.turn} <> '00000000-0000-0000-0000-000000000000'`),
  ],
);

/** The raw body, as text: jsonb rejects \u0000 and lone surrogates, so a valid event could never be claimed. */
export const bodies = webhooks.table(
  'bodies',
  {
    source: text('source').notNull(),
    eventId: text('event_id').notNull(),
    body: text('body').notNull(),
    headers: jsonb('headers').$type<Record<string, string>>().notNull(),
    receivedAt: time('received_at').notNull(),
  },
  (table) => [
    index('bodies_received').on(table.receivedAt),
    primaryKey({ columns: [table.source, table.eventId] }),
    foreignKey({
      name: 'bodies_event',
      columns: [table.source, table.eventId],
      foreignColumns: [events.source, events.eventId],
    }).onDelete('cascade'),
  ],
);

/** Joins events with their bodies. Most have one of their own. */
export const itsBody = sql`(${bodies.source}, ${bodies.eventId}) = (${events.source}, coalesce(${events.bodyOf}, ${events.eventId}))`;

/** The outbox: one row per call to the outside, written in the transaction that completes its event. */
export const effects = webhooks.table(
  'effects',
  {
    source: text('source').notNull(),
    eventId: text('event_id').notNull(),
    name: text('name').notNull(),
    /** A rerun deletes the row and writes it again. This tells the two apart, so that a result is kept only by its own row. */
    generation: uuid('generation').notNull().defaultRandom(),
    kind: text('kind').notNull(),
    /** JSON, kept as text for the same reason as a body. */
    payload: text('payload').notNull(),
    status: text('status', { enum: EFFECT_STATUSES }).notNull().default('pending'),
    dueAt: time('due_at').notNull(),
    /** When its handler wants it sent, if that is later than at once. */
    sendAt: time('send_at'),
    /** The handler's name for it, by which it can be cancelled. */
    cancelKey: text('cancel_key'),
    /** An effect that is for later, has failed, or was told to wait, is not sent before then, even if another ticket comes. */
    notBefore: time('not_before'),
    /** As for an event. */
    begunAt: time('begun_at'),
    attempts: integer('attempts').notNull().default(0),
    maxAttempts: integer('max_attempts'),
    position: text('position'),
    failure: text('failure', { enum: FAILURES }),
    lastError: text('last_error'),
    sentAt: time('sent_at'),
    /**
     * The host that has failed, or whose pause it waits for. Empty if it isn't known, or if it waits for its kind. It has no ticket
     * while `due_at` has passed: whoever ends the wait sends one.
     */
    host: text('host'),
    /** Since when it has failed because of the other side, or waits for a pause. */
    failingSince: time('failing_since'),
    /** Its place in the line of a kind that is limited to some calls per second. Null if it isn't in the line. */
    slotAt: time('slot_at'),
  },
  (table) => [
    primaryKey({ columns: [table.source, table.eventId, table.name] }),
    check('known_effect_status', sql`${table.status} in (${listed(EFFECT_STATUSES)})`),
    check('known_effect_failure', sql`${table.failure} in (${listed(FAILURES)})`),
    foreignKey({
      name: 'effects_event',
      columns: [table.source, table.eventId],
      foreignColumns: [events.source, events.eventId],
    }).onDelete('cascade'),
    index('effects_due').on(table.dueAt).where(sql`status = 'pending'`),
    // Only effects whose other side has failed are in it, and those that wait.
    index('effects_waiting')
      .on(table.kind, table.host, table.dueAt)
      .where(sql`status = 'pending' and host is not null`),
    // Only effects that can be cancelled are in it.
    uniqueIndex(EFFECT_KEY_ONCE).on(table.source, table.kind, table.cancelKey).where(sql`cancel_key is not null`),
    // Only parked effects are in it. Without it, every look at what is parked would read the whole table.
    index('effects_parked').on(table.source, table.eventId).where(sql`status = 'parked'`),
    // For the number of effects sent in the last day. A BRIN index has one entry for 128 pages of rows.
    index('effects_sent').using('brin', table.sentAt),
  ],
);

/** One row for each `cancel()`: an effect with this key is not sent, also if it is added only later. */
export const cancellations = webhooks.table(
  'cancellations',
  {
    source: text('source').notNull(),
    kind: text('kind').notNull(),
    cancelKey: text('cancel_key').notNull(),
    cancelledAt: time('cancelled_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.source, table.kind, table.cancelKey] }),
    index('cancellations_age').on(table.cancelledAt),
  ],
);

/** The tables of what is tried: each row has its attempts, its failure and its status. */
export type WorkTable = typeof events | typeof effects;

/** Joins effects with their events. */
export const itsEvent = sql`(${events.source}, ${events.eventId}) = (${effects.source}, ${effects.eventId})`;

/** Since when an effect could have been sent. */
export const sendableSince = sql`coalesce(${effects.sendAt}, ${events.finishedAt})`;

/** One row for each condition that an operator is, or is about to be, alerted about. It is deleted when that is over. */
export const alerts = webhooks.table(
  'alerts',
  {
    condition: text('condition', {
      enum: ['parked', 'pending', 'silent', 'missing', 'unconfirmed', 'not_asked', 'paused'],
    }).notNull(),
    source: text('source').notNull(),
    /** Of `parked`: why, so that a new kind of failure is a new alert. Otherwise empty. */
    failure: text('failure', { enum: ['', ...FAILURES] }).notNull(),
    /** When the cron first saw it. */
    since: time('since').notNull(),
    /** When the alert endpoint accepted the alert. */
    sentAt: time('sent_at'),
  },
  (table) => [primaryKey({ columns: [table.condition, table.source, table.failure] })],
);

/** The hours in which a source sent an event. They say how long it is usually silent, without a scan of all events. */
export const hours = webhooks.table(
  'hours',
  {
    source: text('source').notNull(),
    hour: time('hour').notNull(),
  },
  (table) => [primaryKey({ columns: [table.source, table.hour] })],
);

/** One row for each source whose provider is asked what it has sent (src/reconcile). */
export const reconciles = webhooks.table('reconciles', {
  source: text('source').primaryKey(),
  /** Every event that the provider sent before is here, or was given up. The next window begins there. */
  since: time('since').notNull(),
  /** When the last window was asked for that reached the present. An operator sets it to null, so that the next tick asks. */
  askedAt: time('asked_at'),
  /** How many events the provider had sent in the last window. */
  listed: integer('listed').notNull().default(0),
  /** How many of those were missing here. */
  missing: integer('missing').notNull().default(0),
  /** The last time that any were missing: how many within a day, the earliest by the provider's time, and when they were found. */
  found: integer('found').notNull().default(0),
  foundSince: time('found_since'),
  foundAt: time('found_at'),
  /** The SHA-256 of the key that has listed an event which was known here. With another key, nothing is claimed before it does. */
  confirmedKey: text('confirmed_key'),
  /** An operator says that the key is right, although it lists nothing that is known here. */
  accepted: boolean('accepted').notNull().default(false),
  problem: text('problem', { enum: ['failed', 'unconfirmed'] }),
  problemSince: time('problem_since'),
  lastError: text('last_error'),
  /** The provider is not asked before then. */
  notBefore: time('not_before'),
  /** Values in an event that was delivered. An event that the API lists with other ones is parked. */
  delivered: jsonb('delivered').$type<Readonly<Record<string, unknown>>>(),
});

/**
 * One row for each tenant: one of many senders behind a source, with an address and a secret of its own. A row is never deleted,
 * because the secret of a name that is used again must be another one.
 */
export const tenants = webhooks.table(
  'tenants',
  {
    source: text('source').notNull(),
    tenant: text('tenant').notNull(),
    /** A derived secret is made of it. The next one begins when the secret is rotated, or the tenant is made again. */
    generation: integer('generation').notNull().default(1),
    /** The TENANTS_KEY that made the secret, as `TenantKey.id` names it. */
    keyId: text('key_id').notNull(),
    /** The secret, if the sender has made it: sealed with the key. Null: it is derived from the key. */
    sealed: text('sealed'),
    /** While a rotation is not finished: the same of the secret before. */
    previousGeneration: integer('previous_generation'),
    previousKeyId: text('previous_key_id'),
    sealedPrevious: text('sealed_previous'),
    createdAt: time('created_at').notNull(),
    disabledAt: time('disabled_at'),
    eraseAskedAt: time('erase_asked_at'),
    erasedAt: time('erased_at'),
  },
  (table) => [
    primaryKey({ columns: [table.source, table.tenant] }),
    // An event's id is `<tenant>:<id>`: a tenant with a colon could take the ids of another one.
    check('tenant_name', sql`${table.tenant} ~ '^[a-z0-9_-]{1,64}$'`),
  ],
);

/**
 * What keeps effects waiting. One row for each kind and host that has failed lately, and with an empty host for each kind as a
 * whole, if it is limited, was paused by an operator, or fails at hosts that nobody knows. The kind is empty for the hosts that
 * handlers of events ask. Without failures and limits the table is empty.
 */
export const pauses = webhooks.table(
  'pauses',
  {
    kind: text('kind').notNull(),
    host: text('host').notNull(),
    /** Up to three events whose calls have failed since the last call that has succeeded. Three of them set a pause. */
    failing: text('failing').array().notNull().default([]),
    lastError: text('last_error'),
    /** When a call has last succeeded, some seconds less precise. A failure counts as an attempt if that was after the first one. */
    okAt: time('ok_at'),
    pausedAt: time('paused_at'),
    /** The operator. Null if failures have set the pause. */
    pausedBy: text('paused_by'),
    /** The next call is not made before then, and then only one. */
    probeAt: time('probe_at'),
    probeSeconds: integer('probe_seconds').notNull().default(0),
    /** Whether effects wait without tickets, although nothing is paused: each that ends sends the tickets of others. */
    backlog: boolean('backlog').notNull().default(false),
    /** When the next call may begin, if the kind has a limit per second. */
    nextAt: time('next_at'),
    /** When the line of that limit ends: the time for the next effect that must wait. */
    lineAt: time('line_at'),
    /** If the kind has a limit of calls at once: how many calls each run makes, by its id, and until when at most. */
    runs: jsonb('runs').$type<Readonly<Record<string, { readonly calls: number; readonly until: string }>>>(),
    changedAt: time('changed_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.kind, table.host] })],
);
