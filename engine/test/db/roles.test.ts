import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WORKERS, type WorkerKind } from '../../cli/config/worker-config.ts';
import { connect } from '../../cli/database/connect.ts';
import { migrate } from '../../cli/database/migrations.ts';
import { createWorkerRoles } from '../../cli/database/worker-roles.ts';
import { claim } from '../../src/db/claim.ts';
import { commit, run } from '../../src/db/client.ts';
import { useDatabase } from '../database.ts';
import { claimRequest } from '../new-event.ts';

const database = useDatabase();

/** With the names of the roles of this database. */
const named = (statement: string) => statement.replaceAll(/claimcheck_(\w+)/g, (_, worker) => database.role(worker));

/** Refused to all: what only the owner of the tables or a superuser may do. */
const OWNERS_ONLY = [
  'alter table webhooks.events add column more int',
  'alter table webhooks.events drop constraint completed_at_most_once',
  'alter table webhooks.events disable trigger user',
  'drop table webhooks.bodies',
  'drop index webhooks.events_due',
  'truncate webhooks.alerts',
  'create index on webhooks.events (type)',
  'create trigger mine before insert on webhooks.events for each row execute function suppress_redundant_updates_trigger()',
  'create table mine (n int)',
  'create table fixture.mine (n int)',
  'create function mine() returns int language sql as $$ select 1 $$',
  'create schema mine',
  'create database mine',
  'create role mine',
  'set role claimcheck',
  `alter role claimcheck password 'x'`,
  'alter role claimcheck_consumer createdb',
  'alter role claimcheck_receiver bypassrls',
  'alter role claimcheck_ops bypassrls',
  'select * from drizzle.engine_migrations',
  'delete from drizzle.app_migrations',
  'create table webhooks.mine (n int)',
  'drop schema webhooks cascade',
  'alter table fixture.balances add column more int',
  'drop table fixture.balances',
  'truncate fixture.balances',
  'select rolpassword from pg_authid',
  `select pg_read_file('PG_VERSION')`,
  `copy (select 1) to program 'true'`,
  `alter system set work_mem = '8MB'`,
  `update webhooks.bodies set body = ''`,
  `update webhooks.events set source = ''`,
  `update webhooks.events set event_id = ''`,
  `update webhooks.events set received_at = now()`,
  'update webhooks.events set fingerprint = null',
  'update webhooks.events set replay_number = 1',
  `insert into webhooks.events (source, event_id, received_at, due_at, completions) values ('a', 'b', now(), now(), -9)`,
];

const NOT_THE_APPS = [
  'select * from fixture.balances',
  `insert into fixture.balances (customer, balance) values ('c', 1)`,
  'update fixture.balances set balance = 1',
  'delete from fixture.balances',
];

const REFUSED: Readonly<Record<WorkerKind, readonly string[]>> = {
  receiver: [
    ...OWNERS_ONLY,
    ...NOT_THE_APPS,
    'select type from webhooks.events',
    'select last_error from webhooks.events',
    'select body from webhooks.bodies',
    'select headers from webhooks.bodies',
    `update webhooks.events set status = 'done'`,
    'update webhooks.events set due_at = now()',
    'update webhooks.events set completions = 0',
    'delete from webhooks.events',
    'delete from webhooks.bodies',
    'select source from webhooks.effects',
    `insert into webhooks.effects (source, event_id, name, kind, payload, due_at) values ('a', 'b', 'c', 'd', '{}', now())`,
    `update webhooks.effects set status = 'sent'`,
    'delete from webhooks.effects',
    'select * from webhooks.alerts',
    'select * from webhooks.hours',
    'select created_at from webhooks.tenants',
    'update webhooks.tenants set sealed = null',
    `insert into webhooks.tenants (source, tenant, key_id, created_at) values ('a', 'b', 'c', now())`,
    'select source from webhooks.events for update',
  ],
  consumer: [
    ...OWNERS_ONLY,
    'select actions from webhooks.events',
    'select last_error from webhooks.events',
    'select last_error from webhooks.effects',
    'select * from webhooks.events',
    `update webhooks.events set type = 'other'`,
    `update webhooks.tenants set disabled_at = null`,
    `update webhooks.tenants set sealed = null`,
    'select sealed from webhooks.tenants',
    'delete from webhooks.tenants',
    `update webhooks.effects set payload = '{}'`,
    `update webhooks.effects set name = 'other'`,
  ],
  ops: [
    ...OWNERS_ONLY,
    ...NOT_THE_APPS,
    'select payload from webhooks.effects',
    'update webhooks.tenants set erased_at = now()',
    'delete from webhooks.tenants',
    'select * from webhooks.effects',
    `insert into webhooks.events (source, event_id, received_at, due_at) values ('a', 'b', now(), now())`,
    `insert into webhooks.bodies (source, event_id, body, headers, received_at) values ('a', 'b', '', '{}', now())`,
    `insert into webhooks.effects (source, event_id, name, kind, payload, due_at) values ('a', 'b', 'c', 'd', '{}', now())`,
    `update webhooks.effects set payload = '{}'`,
    'update webhooks.effects set sent_at = now()',
    'delete from webhooks.events',
    'delete from webhooks.bodies',
    'update webhooks.alerts set sent_at = now()',
    'delete from webhooks.alerts',
    'delete from webhooks.hours',
  ],
};

// So that a statement which is not refused finds a row to change.
beforeAll(async () => {
  await claim(database.receiver, claimRequest(['evt_1'], { receivedAt: new Date() }));
});

describe.each(WORKERS)('the role of the %s may not', (worker) => {
  it.each(REFUSED[worker])('%s', (statement) => expectRefused(worker, statement));
});

async function expectRefused(worker: WorkerKind, statement: string): Promise<void> {
  await expect(run(database[worker], sql.raw(named(statement)))).rejects.toMatchObject({ code: '42501' });
}

it.each([
  ['receiver', []],
  ['consumer', ['events', 'bodies', 'effects', 'alerts', 'hours']],
  ['ops', ['effects']],
] as const)(
  'the role of the %s can lock no other tables than %j, which it may delete from',
  async (worker, expected) => {
    const tables = ['events', 'bodies', 'effects', 'alerts', 'hours'];
    const lockable: string[] = [];
    for (const table of tables) {
      const lock = commit(database[worker], [sql.raw(`lock table webhooks.${table} in share mode`)]);
      await lock.then(
        () => lockable.push(table),
        (error) => expect(error).toMatchObject({ code: '42501' }),
      );
    }
    expect(lockable).toEqual(expected);
  },
);

it('a right that is missing is named in our own words, with the command that grants it', async () => {
  const error = await run(database.ops, sql`delete from webhooks.alerts`).catch((thrown: Error) => thrown);
  expect(String(error)).toBe(
    "DatabaseError: Postgres refused with SQLSTATE 42501: the Worker's role lacks a right. If it needs this right, npm run db:roles grants it (as the owner of the tables)",
  );
});

const TIME_OUTS = ['idle_in_transaction_session_timeout=10s', 'lock_timeout=10s', 'statement_timeout=15s'];

/** What a role begins each session with. */
async function timeOuts(worker: WorkerKind): Promise<string[] | undefined> {
  const query = 'select rolconfig as settings from pg_roles where rolname = $1';
  return (await database.sql<{ settings: string[] }>(query, [database.role(worker)]))[0]?.settings.toSorted();
}

it.each(WORKERS)('the role of the %s has time-outs, and is a member of nothing', async (name) => {
  expect(await timeOuts(name)).toEqual(TIME_OUTS);
  const [role] = await database.sql(
    `select rolsuper or rolcreaterole or rolcreatedb or rolbypassrls or rolreplication as powerful,
            (select count(*)::int from pg_auth_members where member = pg_roles.oid) as groups,
            (select count(*)::int from pg_class where relowner = pg_roles.oid) as owned
     from pg_roles where rolname = $1`,
    [database.role(name)],
  );
  expect(role).toEqual({ powerful: false, groups: 0, owned: 0 });
});

describe('a table of the app that a later migration makes', () => {
  beforeAll(async () => {
    await database.sql('create schema later');
    await database.sql('create table later.numbers (id serial primary key, n int)');
    await database.sql('create view later.doubled as select n * 2 as n from later.numbers');
    await migrate(database.stack.databaseUrl);
  });
  afterAll(() => database.sql('drop schema later cascade'));

  it('the consumer reads, writes and deletes its rows, and takes numbers from its sequence', async () => {
    const { consumer } = database;
    await run(consumer, sql`insert into later.numbers (n) values (1), (2)`);
    await run(consumer, sql`update later.numbers set n = 3 where n = 1`);
    await run(consumer, sql`delete from later.numbers where n = 2`);
    expect(await run(consumer, sql`select numbers.id, doubled.n from later.numbers, later.doubled`)).toEqual([
      { id: 1, n: 6 },
    ]);
  });

  it.each(['receiver', 'ops'] as const)('the %s may not even look into its schema', (worker) =>
    expectRefused(worker, 'select * from later.numbers'),
  );
});

describe('npm run db:roles, a second time,', () => {
  const canConnect = async (url: string) => {
    const client = await connect(url).catch(() => undefined);
    await client?.end();
    return client !== undefined;
  };

  it('grants what is missing and revokes what is too much, and leaves the passwords as they are', async () => {
    const { databaseUrl, workerUrls } = database.stack;
    await database.sql(named('revoke insert on webhooks.bodies from claimcheck_receiver'));
    await database.sql(
      named('grant usage on schema fixture to claimcheck_ops; grant select on fixture.balances to claimcheck_ops'),
    );
    await database.sql(named('grant update (status), delete on webhooks.events to claimcheck_receiver'));
    await database.sql(named('grant update (type) on webhooks.events to claimcheck_consumer'));
    await database.sql(named('alter role claimcheck_ops reset statement_timeout'));
    expect((await createWorkerRoles(databaseUrl, { rotate: [] })).urls).toEqual({});
    expect(await Promise.all(Object.values(workerUrls).map(canConnect))).toEqual([true, true, true]);
    await claim(database.receiver, claimRequest(['evt_2'], { receivedAt: new Date() }));
    await expectRefused('ops', 'select * from fixture.balances');
    await expectRefused('receiver', `update webhooks.events set status = 'done'`);
    await expectRefused('receiver', 'delete from webhooks.events');
    await expectRefused('consumer', `update webhooks.events set type = 'other'`);
    expect(await timeOuts('ops')).toEqual(TIME_OUTS);
  });

  it('with --rotate gives one role a new password, and the other keeps its own', async () => {
    const { databaseUrl, workerUrls } = database.stack;
    const { urls } = await createWorkerRoles(databaseUrl, { rotate: ['consumer'] });
    expect(Object.keys(urls)).toEqual(['consumer']);
    expect(await canConnect(urls.consumer ?? '')).toBe(true);
    expect(await canConnect(workerUrls.consumer)).toBe(false);
    expect(await canConnect(workerUrls.receiver)).toBe(true);
  });
});

describe('in another database of the same server', () => {
  const otherUrl = () => new URL('/not_theirs', database.stack.databaseUrl).href;
  beforeAll(() => database.sql('create database not_theirs'));

  it('roles without tables are refused with the command that makes these', async () => {
    await expect(createWorkerRoles(otherUrl(), { rotate: [] })).rejects.toThrow(
      /^the role .* or run npm run db:migrate first$/,
    );
  });

  it('a role that may do more than it should is refused, and a migration without roles names who has none', async () => {
    expect(await migrate(otherUrl())).toEqual(WORKERS);
    await database.sql('create role a_group');
    for (const right of ['createdb', 'createrole', 'bypassrls', 'replication', 'in role a_group']) {
      await database.sql(`create role not_theirs_receiver login ${right}`);
      await expect(createWorkerRoles(otherUrl(), { rotate: [] }), right).rejects.toThrow(
        /^the role not_theirs_receiver may do more/,
      );
      await database.sql('drop role not_theirs_receiver');
    }
  });

  it('the roles are others, so that those of one database have no rights in the other', async () => {
    const { urls } = await createWorkerRoles(otherUrl(), { rotate: [] });
    expect(new URL(urls.receiver ?? '').username).toBe('not_theirs_receiver');
    const client = await connect(new URL(new URL(database.stack.databaseUrl).pathname, urls.receiver).href);
    await expect(client.query('select * from webhooks.events')).rejects.toMatchObject({ code: '42501' });
    await client.end();
  });
});

it('a migration and npm run db:roles with the URL of a Worker are refused in one line', async () => {
  await expect(createWorkerRoles(database.stack.workerUrls.receiver, { rotate: [] })).rejects.toThrow(
    "the role in DATABASE_URL owns no table webhooks.alerts: use the URL of the tables' owner",
  );
  await expect(migrate(database.stack.workerUrls.receiver)).rejects.toThrow(
    'the role in DATABASE_URL may not do this: use the URL of the role that owns the tables',
  );
});
