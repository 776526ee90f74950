// Handlers with the mistakes that a handler's author can make by accident, and what the error of each must say.
import { sql } from 'drizzle-orm';
import { pgTable, text } from 'drizzle-orm/pg-core';
import type { Failure } from '../../../src/db/schema.ts';
import {
  type Change,
  defineHandler,
  Effect,
  type Handler,
  must,
  RetryLater,
  type Tools,
} from '../../../src/kit/index.ts';
import { balances } from '../fixture/tables.ts';

type Db = Tools['db'];
interface Mistake {
  readonly error: string;
  readonly failure?: Failure;
  readonly handler: Handler;
}
type Mistakes = Readonly<Record<string, Mistake>>;

const row = { customer: 'mistake', balance: 1n };

const returning = (answer: (db: Db) => unknown) =>
  defineHandler({ handle: (_event, { db }) => answer(db) as Change[] | Promise<Change[]> });

const throwing = (value: () => unknown, more: Partial<Handler> = {}): Handler => ({
  ...defineHandler({
    handle() {
      throw value();
    },
  }),
  ...more,
});

const unreadable = () =>
  new Proxy(new Error('no'), {
    get() {
      throw new Error('from the trap');
    },
    getPrototypeOf() {
      throw new Error('from the trap');
    },
  });

const awaits = (work: (db: Db) => Promise<unknown>) => returning(async (db) => (await work(db)) && []);

const onlyReads = "the handler's db only reads";
const whatToReturn = 'return an array of changes';
const whatAChangeIs = 'a change is a statement';
const control = 'begins, ends or changes a transaction';

/** Each is parked at its first attempt, because another try can't help. The failure is `changes` if none is given. */
export const parkedAtOnce: Mistakes = {
  'awaits an insert': { error: onlyReads, handler: awaits((db) => db.insert(balances).values(row)) },
  'awaits db.execute': {
    error: onlyReads,
    handler: awaits((db) => db.execute(sql`insert into fixture.balances (customer, balance) values ('mistake', 1)`)),
  },
  'awaits an insert inside a query': {
    error: onlyReads,
    handler: awaits((db) =>
      db.execute(sql`with i as (insert into fixture.balances values ('mistake', 1) returning 1) select * from i`),
    ),
  },
  'awaits a prepared insert': {
    error: onlyReads,
    handler: awaits((db) => db.insert(balances).values(row).prepare('insert').execute()),
  },
  'awaits a batch': { error: onlyReads, handler: awaits((db) => db.batch([db.insert(balances).values(row)])) },
  'is async and returns a statement without an array': {
    error: onlyReads,
    handler: returning(async (db) => db.insert(balances).values(row)),
  },
  'awaits a commit before a write': {
    error: control,
    handler: awaits((db) => db.batch([db.execute(sql`commit`), db.insert(balances).values(row)])),
  },
  'awaits set transaction before a write': {
    error: control,
    handler: awaits((db) => db.batch([db.execute(sql`set transaction read write`), db.insert(balances).values(row)])),
  },
  'awaits set local before a write': {
    error: control,
    handler: awaits((db) =>
      db.batch([db.execute(sql`set local transaction_read_only = off`), db.insert(balances).values(row)]),
    ),
  },

  // Every form of these: test/engine/pure/user-statement.test.ts.
  'returns a commit': {
    error: control,
    handler: returning((db) => [db.execute(sql.raw('/* a /* nested */ one */;commit'))]),
  },
  'returns a statement about a table of the engine': {
    error: 'belongs to the engine: keep what you need in a table of your own',
    handler: returning((db) => [db.execute(sql`delete from webhooks.events`)]),
  },

  'returns nothing': { error: whatToReturn, handler: returning(() => undefined) },
  'returns null': { error: whatToReturn, handler: returning(() => null) },
  'returns a text': { error: whatToReturn, handler: returning(() => 'insert into things') },
  'returns a number': { error: whatToReturn, handler: returning(() => 1) },
  'returns an object': { error: whatToReturn, handler: returning(() => ({ changes: [] })) },
  'returns a statement without an array': {
    error: `returned a statement: ${whatToReturn}`,
    handler: returning((db) => db.insert(balances).values(row)),
  },
  'returns db.execute without an array': {
    error: `returned a statement: ${whatToReturn}`,
    handler: returning((db) => db.execute(sql`delete from fixture.balances`)),
  },
  'returns an effect without an array': {
    error: `returned an effect: ${whatToReturn}`,
    handler: returning(() => new Effect('answers', {}, 'alone')),
  },
  'returns nested arrays': {
    error: whatAChangeIs,
    handler: returning((db) => [[db.insert(balances).values(row)]]),
  },
  'returns a list with a hole': { error: whatAChangeIs, handler: returning(() => [undefined]) },
  'returns a list of texts': { error: whatAChangeIs, handler: returning(() => ['delete from fixture.balances']) },
  'returns a list of promises': {
    error: 'is a promise',
    handler: returning(() => [Promise.resolve(1)]),
  },
  'returns a list of promises that fail': {
    error: 'is a promise',
    handler: returning((db) => [(async () => db.insert(balances).values(row))()]),
  },
  'returns sql without db.execute': {
    error: 'without db.execute()',
    handler: returning(() => [sql`delete from fixture.balances`]),
  },
  ...Object.fromEntries(
    [
      'delete from fixture.balances',
      'update fixture.balances set balance = (select 2) -- returning',
      'insert into fixture.balances select * from fixture.balances',
      'with gone as (delete from fixture.balances returning 1) select * from gone',
    ].map((statement) => [
      `returns must() of ${statement}`,
      {
        error: ': must() takes one select, or one insert, update or delete with `returning`',
        handler: returning((db) => [must(db.execute(sql.raw(statement)), 'no')]),
      },
    ]),
  ),
  'returns must() of a promise that fails': {
    error: 'is a promise',
    handler: returning((db) => [must(db.insert(balances).values(row).execute() as never, 'no')]),
  },
  'returns must() of nothing': {
    error: 'is undefined',
    handler: returning(() => [must(undefined as never, 'no')]),
  },
  'returns a count': { error: 'without db.execute()', handler: returning((db) => [db.$count(balances)]) },
  'returns an insert without values': { error: whatAChangeIs, handler: returning((db) => [db.insert(balances)]) },
  'returns a placeholder': {
    error: 'placeholder',
    handler: returning((db) => [db.insert(balances).values({ ...row, customer: sql.placeholder('customer') })]),
  },
  'returns a thousand and one changes': {
    error: '1001 changes, and 1000 is the limit',
    handler: returning((db) => Array.from({ length: 1001 }, () => db.execute(sql`select 1`))),
  },
  'returns an effect with a bigint': {
    error: 'cannot be written as JSON',
    handler: returning(() => [new Effect('answers', { amount: 1n }, 'bigint')]),
  },

  'returns a statement with a parameter that contains itself': {
    error: 'cannot be written as JSON',
    handler: returning((db) => {
      const circle: { self?: object } = {};
      circle.self = circle;
      return [db.execute(sql`select ${circle}::jsonb`)];
    }),
  },

  'returns a statement with half a character in a parameter': {
    error: 'half a character',
    handler: returning((db) => [db.insert(balances).values({ ...row, customer: 'a\ud800' })]),
  },
  'returns a statement with NUL in a list of parameters': {
    error: 'has a parameter with NUL',
    handler: returning((db) => [db.execute(sql`select ${sql.param(['a', 'b\0'])}::text[]`)]),
  },
  'returns a statement with NUL in a list of lists, behind another parameter': {
    error: 'has a parameter with NUL',
    handler: returning((db) => [db.execute(sql`select ${'a'}, ${sql.param([['a'], ['b\0']])}::text[][]`)]),
  },
  'returns two effects of one name': {
    error: 'two effects have the same name',
    handler: returning(() => [new Effect('a', {}, 'same'), new Effect('b', {}, 'same')]),
  },
  ...Object.fromEntries(
    ['a\0b', 'a\ud800', 7].map((name) => [
      `returns an effect with the name ${JSON.stringify(name)}`,
      {
        error: 'is an effect whose name',
        handler: returning(() => [new Effect('answers', {}, name as string)]),
      },
    ]),
  ),

  // What else may be thrown: test/engine/pure/judge.test.ts.
  'throws what cannot be read': { error: 'cannot be read', failure: 'handler', handler: throwing(unreadable) },
  'asks to be tried again after -1': {
    error: 'RetryLater takes a number of seconds from 0 up',
    failure: 'retry_later',
    handler: throwing(() => new RetryLater(-1)),
  },
  'fails, and has no attempts': {
    error: 'attempts must be a whole number from 1 up',
    failure: 'handler',
    handler: throwing(() => new Error('no'), { attempts: 0 }),
  },
};

/** A table of the app in `public`. Its name is that of the engine's schema, and so is the name of a column. */
const ownWebhooks = pgTable('webhooks', {
  id: text('id').primaryKey(),
  webhooks: text('webhooks'),
  events: text('events'),
});

/** Another try may help, so each is tried again like any other failure: `handler`, if no other is given. */
export const triedAgain: Mistakes = {
  'returns a statement with a list of bigints that divides by zero': {
    error: 'SQLSTATE 22012',
    failure: 'database',
    handler: returning((db) => [db.execute(sql`select 1 / 0 from unnest(${sql.param([1n, 2n])}::bigint[])`)]),
  },
  'throws undefined': { error: 'not an Error (undefined)', handler: throwing(() => undefined) },
};

/** Statements in every form in which they may be returned. */
const correct = {
  'returns a thousand changes': returning((db) => [
    ...Array.from({ length: 999 }, () => db.execute(sql`select 1`)),
    db.insert(balances).values({ customer: 'thousand', balance: 1n }),
  ]),
  'returns statements of every form': returning((db) => [
    db.insert(balances).values({ ...row, balance: 0n }),
    db.update(balances).set({ balance: sql`${balances.balance} + 1` }),
    db.execute(sql`update fixture.balances set balance = balance + 10`),
    db
      .update(balances)
      .set({ balance: sql`${balances.balance} + 100` })
      .prepare('update'),
    db.select().from(balances),
    db.insert(balances).values({ customer: 'deleted', balance: 1n }),
    must(db.delete(balances).where(sql`${balances.customer} = 'deleted'`), 'no'),
    must(db.execute(sql`select 1 ; `), 'no'),
  ]),
  'uses a table of its own called webhooks': returning((db) => [
    db
      .insert(ownWebhooks)
      .values({ id: 'a', webhooks: 'inserted' })
      .onConflictDoUpdate({ target: ownWebhooks.id, set: { webhooks: sql`${ownWebhooks.webhooks} || '!'` } }),
    db
      .update(ownWebhooks)
      .set({ webhooks: 'updated' })
      .where(sql`${ownWebhooks.webhooks} = 'inserted' and ${ownWebhooks.events} is null`),
    db.execute(sql`update public.webhooks set webhooks = webhooks.webhooks || ' twice'`),
  ]),
  'changes a setting': returning((db) => [
    db.execute(sql`select set_config('app.customer', 'mistake', true)`),
    db.execute(sql`insert into fixture.balances values (current_setting('app.customer') || ' of its own', 1)`),
  ]),
  'uses a setting': returning((db) => [
    db.execute(sql`insert into fixture.balances values ('setting ' || current_setting('app.customer', true), 1)`),
  ]),
  'reads in every form': returning(async (db) => {
    const [selected] = await db.select().from(balances);
    const executed = await db.execute<{ balance: string }>(sql`select balance from fixture.balances`);
    const [prepared] = await db.select().from(balances).prepare('read').execute();
    const [[batched]] = await db.batch([db.select().from(balances)]);
    const counted = await db.$count(balances);
    const all = [selected?.balance, BigInt(executed.rows[0]?.balance ?? 0), prepared?.balance, batched?.balance];
    if (all.some((balance) => balance !== 7n) || counted !== 1) throw new Error('a read is wrong');
    return [db.update(balances).set({ balance: 8n })];
  }),
};

const handlersOf = (mistakes: Mistakes) =>
  Object.fromEntries(Object.entries(mistakes).map(([name, { handler }]) => [name, handler]));

export const mistakenHandlers: Record<string, Handler> = {
  ...handlersOf(parkedAtOnce),
  ...handlersOf(triedAgain),
  ...correct,
};
