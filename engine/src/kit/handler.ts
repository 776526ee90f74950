import type { StandardSchemaV1 } from '@standard-schema/spec';
import { type SQL, sql } from 'drizzle-orm';
import type { PgColumn } from 'drizzle-orm/pg-core';
import type { Statement } from '../db/client.ts';
import type { ReadOnlyDatabase } from '../db/user-statement.ts';
import type { Cancel, Effect } from './effect.ts';
import { rememberDefinition } from './errors.ts';
import type { ConsumerEnv } from './register.ts';
import type { Source, TypesOf } from './source.ts';

/**
 * What a handler gets.
 *
 * @example
 * const summary = ({ source, type, occurredAt }: Event) => `${source} ${type} ${occurredAt.toISOString()}`;
 */
export interface Event<Data = unknown> {
  readonly source: string;
  /** At a source with tenants, it begins with the tenant: `acme:evt_1`. */
  readonly id: string;
  /**
   * Who has sent it, if the source has tenants. A tenant can sign anything, so let your statements reach only what belongs to
   * this tenant.
   */
  readonly tenant?: string | undefined;
  readonly type: string | null;
  /**
   * When it happened, by the sender's clock. The time when we received it, if the sender doesn't say, or names a time more
   * than a day later: one event of the year 9999 would otherwise be `newer()` than all that follow.
   */
  readonly occurredAt: Date;
  readonly receivedAt: Date;
  /** If the source has an `orderKey` that could be filled. One of more than 128 bytes is hashed. A tenant's begins with the tenant. */
  readonly orderKey: string | null;
  /** With an order key: a later event of the key was worked before this one, or an operator runs it again. */
  readonly late: boolean;
  /** The payload, as your schema returns it. */
  readonly data: Data;
  /** The body exactly as it was received. */
  readonly raw: string;
  /** The headers of the delivery that are stored. An event of a batch has only `traceparent`. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * What a handler gets besides the event.
 *
 * @example
 * const findAccount = (email: string, { db }: Tools) => db.select().from(accounts).where(eq(accounts.email, email));
 */
export interface Tools {
  /**
   * To build the statements that you return, and to read. It can't write: return the statement, don't await it, because
   * only what is returned is committed together with the event's completion, and so happens once.
   */
  readonly db: ReadOnlyDatabase;
  /** If the event's delivery had a `traceparent` (W3C Trace Context), calls continue its trace. */
  readonly fetch: typeof fetch;
  readonly now: Date;
  /** The variables and secrets of the consumer Worker. */
  readonly env: ConsumerEnv;
}

/**
 * A statement that is committed with the event's completion, an effect that is sent afterwards, or the cancellation of an effect.
 * An event may have 1,000.
 *
 * @example
 * const changes: Change[] = [
 *   db.insert(accounts).values({ email, balance: 0 }),
 *   effect('receipt', { to: email, cents: 0 }),
 * ];
 */
export type Change = Statement | Effect | Cancel | Must;

/**
 * A statement that must return a row, and the error of its event if it returns none.
 *
 * @example
 * const change: Must = must(db.delete(accounts).where(eq(accounts.email, email)), 'there is no such account');
 */
export class Must {
  readonly statement: Statement;
  readonly error: Error;

  constructor(statement: Statement, error: Error) {
    this.statement = statement;
    this.error = error;
  }
}

/**
 * Makes a change a condition. If the statement changes no row (or, as a `select`, finds none), nothing of the event is
 * committed, and the event fails as if its handler had thrown: with a sentence or an `Error` it is tried again, and the
 * handler reads again; a `PermanentError` parks it at once; a `RetryLater` says when. A `select` needs `.for('update')`,
 * or another event may change the row before this one is committed. A `count()` always returns a row.
 *
 * @example
 * must(
 *   db
 *     .update(accounts)
 *     .set({ balance: sql`${accounts.balance} - ${cents}` })
 *     .where(and(eq(accounts.email, email), gte(accounts.balance, cents))),
 *   new PermanentError('the balance is too small'),
 * );
 */
export function must(statement: Statement, error: string | Error): Must {
  return new Must(statement, typeof error === 'string' ? new Error(error) : error);
}

/**
 * What to do for the events of one type.
 *
 * @example
 * const ignore: Handler = { handle: () => [] };
 */
export interface Handler {
  /** Any Standard Schema. A payload that doesn't match it parks the event, with the path that failed. */
  readonly schema?: StandardSchemaV1 | undefined;
  /** How often the handler is tried before the event is parked: a whole number from 1 up. Default: 12. */
  readonly attempts?: number;
  /** Names of constraints of your tables: an event that breaks one is parked at once, because another try can't help. */
  readonly parkOn?: readonly string[];
  readonly handle: (event: Event<never>, tools: Tools) => Change[] | Promise<Change[]>;
}

/**
 * Gives `event.data` the type that the schema returns. Without a schema it is `unknown`.
 *
 * @example
 * export const invoicePaid = defineHandler({
 *   schema: v.object({ email: v.string(), cents: v.number() }),
 *   handle: ({ data: { email, cents } }, { db }) => [
 *     db
 *       .update(accounts)
 *       .set({ balance: sql`${accounts.balance} + ${cents}` })
 *       .where(eq(accounts.email, email)),
 *     effect('receipt', { to: email, cents }),
 *   ],
 * });
 */
export function defineHandler<Schema extends StandardSchemaV1 = StandardSchemaV1<unknown>>(
  handler: Omit<Handler, 'schema' | 'handle'> & {
    schema?: Schema;
    handle: (event: Event<StandardSchemaV1.InferOutput<Schema>>, tools: Tools) => Change[] | Promise<Change[]>;
  },
): Handler {
  return rememberDefinition(handler, defineHandler);
}

/**
 * Several handlers of one event, by names of your choice. They run one after the other, and their changes commit together, or
 * none of them do. The names are in errors, and prefix the names of effects: `notify.mail`.
 *
 * @example
 * const paid: HandlerList = { book: invoicePaid, notify };
 */
export type HandlerList = Readonly<Record<string, Handler>>;

/**
 * By source, then by type.
 *
 * @example
 * const handlers: Handlers = { billing: { 'invoice.paid': invoicePaid } };
 */
export type Handlers = Readonly<
  Record<string, Readonly<Record<string, Handler | HandlerList | undefined>> | undefined>
>;

/**
 * A source or a type that `sources` doesn't name is a compile error. `'invoice.*'` takes the types that begin with `invoice.`
 * and have no handler of their own, and `'*'` all others, also those that the source doesn't name. The most specific wins.
 *
 * @example
 * export const handlers = defineHandlers(sources, {
 *   billing: { 'invoice.paid': { book: invoicePaid, notify }, 'invoice.*': ignore, '*': ignore },
 * });
 */
export function defineHandlers<Sources extends Record<string, Source>>(
  _sources: Sources,
  handlers: {
    readonly [Name in keyof Sources]?: {
      readonly [Type in TypesOf<Sources[Name]> | PatternsOf<TypesOf<Sources[Name]>> | '*']?: Handler | HandlerList;
    };
  },
): Handlers {
  return handlers;
}

/** The patterns that cover a type: of `a.b.c` they are `a.*` and `a.b.*`. */
type PatternsOf<Type extends string> = Type extends `${infer First}.${infer Rest}`
  ? `${First}.*` | `${First}.${PatternsOf<Rest>}`
  : never;

/**
 * For the `setWhere` of an upsert: overwrite the row only with something newer, because events may arrive in any order. The
 * three columns keep `occurredAt`, `receivedAt` and `id` of the event that wrote the row. Of two events of the same moment (many
 * senders write whole seconds), the one that was received later is newer. Of two that were received at the same moment, the
 * one with the higher id is newer, so every order of work ends with the same row. If the sender gives no time, arrival is
 * compared, and an older event that arrives later overwrites a newer one.
 *
 * @example
 * const row = { balance, changedAt: occurredAt, receivedAt, changedBy: id };
 * db.insert(accounts)
 *   .values({ email, ...row })
 *   .onConflictDoUpdate({
 *     target: accounts.email,
 *     set: row,
 *     setWhere: newer(accounts.changedAt, accounts.receivedAt, accounts.changedBy),
 *   });
 */
export function newer(changedAt: PgColumn, receivedAt: PgColumn, changedBy: PgColumn): SQL {
  const incoming = (column: PgColumn) => sql`excluded.${sql.identifier(column.name)}`;
  return sql`(${incoming(changedAt)}, ${incoming(receivedAt)}, ${incoming(changedBy)})
    > (${changedAt}, ${receivedAt}, ${changedBy})`;
}
