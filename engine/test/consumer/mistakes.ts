// Handlers with the mistakes that a handler's author can make by accident, and what the error of each must say.
import { type Placeholder, sql } from 'drizzle-orm';
import { pgTable, text } from 'drizzle-orm/pg-core';
import type { Failure } from '../../src/db/schema.ts';
import {
  Cancel,
  type Change,
  defineHandler,
  Effect,
  type Handler,
  must,
  RetryLater,
  type Tools,
} from '../../src/kit/index.ts';
import { balances } from '../fixture/tables.ts';

type Db = Tools['db'];
/** Its failure is `changes` if none is given. */
type Mistake = readonly [error: string, handler: Handler, failure?: Failure];
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

const circle: { self?: object } = {};
circle.self = circle;

const awaits = (work: (db: Db) => Promise<unknown>) => returning(async (db) => (await work(db)) && []);
const insert = (db: Db, more: { customer?: string | Placeholder } = {}) =>
  db.insert(balances).values({ ...row, ...more });

const onlyReads = "the handler's db only reads";
const whatToReturn = 'return an array of changes';
const whatAChangeIs = 'a change is a statement';
const control = 'begins, ends or changes a transaction';
const notAQuestion = ': must() takes one select, or one insert, update or delete with `returning`';

/** Each is parked at its first attempt, because another try can't help. */
export const parkedAtOnce: Mistakes = {
  'awaits an insert': [onlyReads, awaits((db) => insert(db))],
  'awaits db.execute': [
    onlyReads,
    awaits((db) => db.execute(sql`insert into fixture.balances (customer, balance) values ('mistake', 1)`)),
  ],
  'awaits an insert inside a query': [
    onlyReads,
    awaits((db) =>
      db.execute(sql`with i as (insert into fixture.balances values ('mistake', 1) returning 1) select * from i`),
    ),
  ],
  'awaits a prepared insert': [onlyReads, awaits((db) => insert(db).prepare('insert').execute())],
  'awaits a batch': [onlyReads, awaits((db) => db.batch([insert(db)]))],
  'is async and returns a statement without an array': [onlyReads, returning(async (db) => insert(db))],
  'awaits set local before a write': [
    control,
    awaits((db) => db.batch([db.execute(sql`set local transaction_read_only = off`), insert(db)])),
  ],

  // Every form of these: engine/test/pure/user-statement.test.ts.
  'returns a commit': [control, returning((db) => [db.execute(sql.raw('/* a /* nested */ one */;commit'))])],
  'returns a statement about a table of the engine': [
    'belongs to the engine: keep what you need in a table of your own',
    returning((db) => [db.execute(sql`delete from webhooks.events`)]),
  ],

  'returns nothing': [whatToReturn, returning(() => undefined)],
  'returns null': [whatToReturn, returning(() => null)],
  'returns a text': [whatToReturn, returning(() => 'insert into things')],
  'returns an object': [whatToReturn, returning(() => ({ changes: [] }))],
  'returns a statement without an array': [`returned a statement: ${whatToReturn}`, returning((db) => insert(db))],
  'returns db.execute without an array': [
    `returned a statement: ${whatToReturn}`,
    returning((db) => db.execute(sql`delete from fixture.balances`)),
  ],
  'returns an effect without an array': [
    `returned an effect: ${whatToReturn}`,
    returning(() => new Effect('answers', {}, 'alone')),
  ],
  'returns nested arrays': [whatAChangeIs, returning((db) => [[insert(db)]])],
  'returns a list with a hole': [whatAChangeIs, returning(() => [undefined])],
  'returns a list of texts': [whatAChangeIs, returning(() => ['delete from fixture.balances'])],
  'returns a list of promises': ['is a promise', returning(() => [Promise.resolve(1)])],
  'returns a list of promises that fail': ['is a promise', returning((db) => [(async () => insert(db))()])],
  'returns sql without db.execute': ['without db.execute()', returning(() => [sql`delete from fixture.balances`])],
  'returns a count': ['without db.execute()', returning((db) => [db.$count(balances)])],
  ...Object.fromEntries(
    [
      'delete from fixture.balances',
      'update fixture.balances set balance = (select 2) -- returning',
      'insert into fixture.balances select * from fixture.balances',
      'with gone as (delete from fixture.balances returning 1) select * from gone',
    ].map((statement): [string, Mistake] => [
      `returns must() of ${statement}`,
      [notAQuestion, returning((db) => [must(db.execute(sql.raw(statement)), 'no')])],
    ]),
  ),
  'returns must() of a promise that fails': [
    'is a promise',
    returning((db) => [must(insert(db).execute() as never, 'no')]),
  ],
  'returns must() of nothing': ['is undefined', returning(() => [must(undefined as never, 'no')])],
  'returns an insert without values': [whatAChangeIs, returning((db) => [db.insert(balances)])],
  'returns a placeholder': ['placeholder', returning((db) => [insert(db, { customer: sql.placeholder('customer') })])],
  'returns a thousand and one changes': [
    '1001 changes, and 1000 is the limit',
    returning((db) => Array.from({ length: 1001 }, () => db.execute(sql`select 1`))),
  ],
  'returns an effect with a bigint': [
    'cannot be written as JSON',
    returning(() => [new Effect('answers', { amount: 1n }, 'bigint')]),
  ],
  'returns a statement with a parameter that contains itself': [
    'cannot be written as JSON',
    returning((db) => [db.execute(sql`select ${circle}::jsonb`)]),
  ],
  'returns a statement with half a character in a parameter': [
    'half a character',
    returning((db) => [insert(db, { customer: 'a\ud800' })]),
  ],
  'returns a statement with NUL in a list of lists, behind another parameter': [
    'has a parameter with NUL',
    returning((db) => [db.execute(sql`select ${'a'}, ${sql.param([['a'], ['b\0']])}::text[][]`)]),
  ],
  'returns two effects of one name': [
    'two effects have the same name',
    returning(() => [new Effect('a', {}, 'same'), new Effect('b', {}, 'same')]),
  ],
  ...Object.fromEntries(
    ['a\0b', 'a\ud800', 7].map((name): [string, Mistake] => [
      `returns an effect with the name ${JSON.stringify(name)}`,
      ['is an effect whose name', returning(() => [new Effect('answers', {}, name as string)])],
    ]),
  ),

  ...Object.fromEntries(
    (
      [
        [{ after: -1 }, 'after` takes seconds from 0 up'],
        [{ after: Number.NaN }, 'after` takes seconds from 0 up'],
        [{ at: new Date('nonsense') }, 'and `at` a Date'],
        [{ at: '2026-03-01' }, 'and `at` a Date'],
        [{ after: 30 * 86_400 + 1 }, 'more than 30 days'],
        [{ at: new Date(Date.now() + 31 * 86_400_000) }, 'more than 30 days'],
        [{ key: '' }, 'a text of 1 to 255 characters'],
        [{ key: 'k'.repeat(256) }, 'a text of 1 to 255 characters'],
        [{ key: 'a\0b' }, 'a text of 1 to 255 characters'],
      ] as [options: object, message: string][]
    ).map(([options, message]): [string, Mistake] => [
      `returns an effect with ${JSON.stringify(options).slice(0, 50)}`,
      [message, returning(() => [new Effect('answers', {}, 'later', options)])],
    ]),
  ),
  'cancels an effect without a key': [
    'cancels an effect answers by a key that is not a text',
    returning(() => [new Cancel('answers', undefined as never)]),
  ],
  'cancels what it asks for': [
    'has the key of one that is cancelled',
    returning(() => [new Cancel('answers', 'k'), new Effect('answers', {}, 'a', { key: 'k' })]),
  ],

  // What else may be thrown: engine/test/pure/judge.test.ts.
  'throws what cannot be read': ['cannot be read', throwing(unreadable), 'handler'],
  'asks to be tried again after -1': [
    'RetryLater takes a number of seconds from 0 up',
    throwing(() => new RetryLater(-1)),
    'retry_later',
  ],
  'fails, and has no attempts': [
    'attempts must be a whole number from 1 up',
    throwing(() => new Error('no'), { attempts: 0 }),
    'handler',
  ],
};

/** A table of the app in `public`. Its name is that of the engine's schema, and so is the name of a column. */
const ownWebhooks = pgTable('webhooks', {
  id: text('id').primaryKey(),
  webhooks: text('webhooks'),
  events: text('events'),
});

/** Another try may help, so each is tried again like any other failure. */
export const triedAgain: Mistakes = {
  'returns a statement with a list of bigints that divides by zero': [
    'SQLSTATE 22012',
    returning((db) => [db.execute(sql`select 1 / 0 from unnest(${sql.param([1n, 2n])}::bigint[])`)]),
    'database',
  ],
  'throws undefined': ['not an Error (undefined)', throwing(() => undefined), 'handler'],
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
    must(db.execute(sql`select 1 -- one`), 'no'),
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
  'uses a setting and changes it': returning((db) => [
    db.execute(
      sql`insert into fixture.balances values ('before ' || coalesce(current_setting('app.customer', true), ''), 1)`,
    ),
    db.execute(sql`select set_config('app.customer', 'another', true)`),
  ]),
  'uses a setting': returning((db) => [
    db.execute(
      sql`insert into fixture.balances values ('setting ' || nullif(current_setting('app.customer', true), ''), 1)`,
    ),
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

export const mistakenHandlers: Record<string, Handler> = {
  ...Object.fromEntries(
    Object.entries({ ...parkedAtOnce, ...triedAgain }).map(([name, [, handler]]) => [name, handler]),
  ),
  ...correct,
};
