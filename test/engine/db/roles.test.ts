import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connect, migrate } from '../../../scripts/local/migrations.ts';
import { createWorkerRoles } from '../../../scripts/local/worker-roles.ts';
import { claim } from '../../../src/db/claim.ts';
import { run } from '../../../src/db/client.ts';
import type { WorkerKind } from '../../../src/db/rights.ts';
import { claimable } from '../claimable.ts';
import { useDatabase } from '../database.ts';

const database = useDatabase();

/** Refused to both: what only the owner of the tables or a superuser may do. */
const OWNERS_ONLY = [
  'alter table webhook_events add column more int',
  'alter table webhook_events drop constraint completed_at_most_once',
  'alter table webhook_events disable trigger user',
  'drop table webhook_bodies',
  'drop index webhook_events_due',
  'truncate webhook_alerts',
  'create index on webhook_events (type)',
  'create trigger mine before insert on webhook_events for each row execute function suppress_redundant_updates_trigger()',
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
  'select * from drizzle.__drizzle_migrations',
  'delete from drizzle.__drizzle_migrations',
  'alter table fixture.balances add column more int',
  'drop table fixture.balances',
  'truncate fixture.balances',
  'select rolpassword from pg_authid',
  `select pg_read_file('PG_VERSION')`,
  `copy (select 1) to program 'true'`,
  `alter system set work_mem = '8MB'`,
  `update webhook_bodies set body = ''`,
  `update webhook_events set source = ''`,
  `update webhook_events set event_id = ''`,
  `update webhook_events set received_at = now()`,
  'update webhook_events set fingerprint = null',
  'update webhook_events set replay_number = 1',
  `insert into webhook_events (source, event_id, received_at, due_at, completions) values ('a', 'b', now(), now(), -9)`,
];

const REFUSED: Readonly<Record<WorkerKind, readonly string[]>> = {
  receiver: [
    ...OWNERS_ONLY,
    'select payload from webhook_effects',
    'select * from webhook_effects',
    `insert into webhook_effects (source, event_id, name, kind, payload, due_at) values ('a', 'b', 'c', 'd', '{}', now())`,
    `update webhook_effects set payload = '{}'`,
    'update webhook_effects set sent_at = now()',
    'select * from fixture.balances',
    `insert into fixture.balances (customer, balance) values ('c', 1)`,
    'update fixture.balances set balance = 1',
    'delete from fixture.balances',
  ],
  consumer: [
    ...OWNERS_ONLY,
    'select actions from webhook_events',
    'select last_error, summary from webhook_events',
    'select last_error from webhook_effects',
    'select * from webhook_events',
    `update webhook_events set actions = '[]'`,
    'delete from webhook_events',
    'delete from webhook_bodies',
    'delete from webhook_effects',
    `update webhook_effects set payload = '{}'`,
    `update webhook_effects set name = 'other'`,
    'select * from webhook_alerts',
    'delete from webhook_alerts',
    'select * from webhook_hours',
    'delete from webhook_hours',
    'select * from webhook_deliveries',
    'update webhook_deliveries set count = 0',
  ],
};

// So that a statement which is not refused finds a row to change.
beforeAll(async () => {
  await claim(database.receiver, 'test', [claimable('evt_1')], {}, new Date());
});

describe('the receiver’s role may not', () => {
  it.each(REFUSED.receiver)('%s', (statement) => expectRefused('receiver', statement));
});

describe('the consumer’s role may not', () => {
  it.each(REFUSED.consumer)('%s', (statement) => expectRefused('consumer', statement));
});

async function expectRefused(worker: WorkerKind, statement: string): Promise<void> {
  await expect(run(database[worker], sql.raw(statement))).rejects.toMatchObject({ code: '42501' });
}

it('a right that is missing is named in our own words, with the command that grants it', async () => {
  const error = await run(database.consumer, sql`select * from webhook_alerts`).catch((thrown: Error) => thrown);
  expect(String(error)).toBe(
    "DatabaseError: Postgres refused with SQLSTATE 42501: the Worker's role lacks a right. If it needs this right, npm run db:roles grants it (as the owner of the tables)",
  );
});

it.each(['receiver', 'consumer'] as const)(
  'the role of the %s has time-outs, and is a member of nothing',
  async (name) => {
    const show = async (setting: string) =>
      (await run<Record<string, string>>(database[name], sql.raw(`show ${setting}`)))[0]?.[setting];
    expect(await show('statement_timeout')).toBe('15s');
    expect(await show('lock_timeout')).toBe('10s');
    expect(await show('idle_in_transaction_session_timeout')).toBe('10s');
    const [role] = await database.sql(
      `select rolsuper or rolcreaterole or rolcreatedb or rolbypassrls or rolreplication as powerful,
            (select count(*)::int from pg_auth_members where member = pg_roles.oid) as groups,
            (select count(*)::int from pg_class where relowner = pg_roles.oid) as owned
     from pg_roles where rolname = $1`,
      [`claimcheck_${name}`],
    );
    expect(role).toEqual({ powerful: false, groups: 0, owned: 0 });
  },
);

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

  it('the receiver may not even look into its schema', () => expectRefused('receiver', 'select * from later.numbers'));
});

describe('npm run db:roles, a second time,', () => {
  const canConnect = async (url: string) => {
    const client = await connect(url).catch(() => undefined);
    await client?.end();
    return client !== undefined;
  };

  it('grants what is missing and revokes what is too much, and leaves the passwords as they are', async () => {
    const { databaseUrl, workerUrls } = database.stack;
    await database.sql('revoke insert on webhook_bodies from claimcheck_receiver');
    await database.sql('grant select on fixture.balances to claimcheck_receiver');
    await database.sql('grant update (actions), delete on webhook_events to claimcheck_consumer');
    expect((await createWorkerRoles(databaseUrl, { rotate: [] })).urls).toEqual({});
    expect(await Promise.all(Object.values(workerUrls).map(canConnect))).toEqual([true, true]);
    await claim(database.receiver, 'test', [claimable('evt_2')], {}, new Date());
    await expectRefused('receiver', 'select * from fixture.balances');
    await expectRefused('consumer', `update webhook_events set actions = '[]'`);
    await expectRefused('consumer', 'delete from webhook_events');
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
  const otherUrl = () => new URL('/other', database.stack.databaseUrl).href;
  beforeAll(() => database.sql('create database other'));

  it('roles without tables are refused with the command that makes these', async () => {
    await expect(createWorkerRoles(otherUrl(), { rotate: [] })).rejects.toThrow(
      /^the role .* or run npm run db:migrate first$/,
    );
  });

  it('a role that may do more than it should is refused, and a migration without roles names who has none', async () => {
    expect(await migrate(otherUrl())).toEqual(['receiver', 'consumer']);
    await database.sql('create role other_receiver login createdb');
    await expect(createWorkerRoles(otherUrl(), { rotate: [] })).rejects.toThrow(/^the role other_receiver may do more/);
    await database.sql('drop role other_receiver');
  });

  it('the roles are others, so that those of one database have no rights in the other', async () => {
    const { urls } = await createWorkerRoles(otherUrl(), { rotate: [] });
    expect(new URL(urls.receiver ?? '').username).toBe('other_receiver');
    const client = await connect(new URL('/claimcheck', urls.receiver).href);
    await expect(client.query('select * from webhook_events')).rejects.toMatchObject({ code: '42501' });
    await client.end();
  });
});

it('a migration and npm run db:roles with the URL of a Worker are refused in one line', async () => {
  await expect(createWorkerRoles(database.stack.workerUrls.receiver, { rotate: [] })).rejects.toThrow(
    "the role in DATABASE_URL owns no table webhook_events: use the URL of the tables' owner",
  );
  await expect(migrate(database.stack.workerUrls.receiver)).rejects.toThrow(
    'the role in DATABASE_URL may not do this: use the URL of the role that owns the tables',
  );
});
