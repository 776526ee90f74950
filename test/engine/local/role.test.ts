import { neon } from '@neondatabase/serverless';
import { describe, expect, it } from 'vitest';
// Points the driver at loopback hosts, as in the Workers.
import '../../../src/db/user-statement.ts';
import { useDatabase } from '../database.ts';

const database = useDatabase();
const sql = () => neon(database.stack.databaseUrl);

describe('the role of DATABASE_URL', () => {
  it('is no superuser, but can create roles and databases', async () => {
    const [role] = await database.sql('select rolsuper, rolcreaterole, rolcreatedb from pg_roles where rolname = $1', [
      'claimcheck',
    ]);
    expect(role).toEqual({ rolsuper: false, rolcreaterole: true, rolcreatedb: true });
    await database.sql('create role another');
    await database.sql('create database another owner claimcheck');
  });

  it.each([
    `select pg_read_file('PG_VERSION')`,
    `alter system set work_mem = '8MB'`,
    'create extension file_fdw',
    `copy (select 1) to program 'true'`,
  ])('may not: %s', async (statement) => {
    await expect(sql().query(statement)).rejects.toMatchObject({ code: '42501' });
  });

  it('owns its database and the public schema', async () => {
    await database.sql('create schema extra; drop schema extra');
    await database.sql(`comment on schema public is 'mine'`);
    const name = new URL(database.stack.databaseUrl).pathname.slice(1);
    await database.sql(`comment on database ${name} is 'mine'`);
  });
});

it('Postgres runs in UTC, whatever time zone the developer has', async () => {
  expect(await sql()`show timezone`).toEqual([{ TimeZone: 'UTC' }]);
  expect(await sql()`show log_timezone`).toEqual([{ log_timezone: 'UTC' }]);
});

it('the PG variables of the shell reach neither Postgres nor a connection', async () => {
  expect(await sql()`show statement_timeout`).toEqual([{ statement_timeout: '0' }]);
  expect(await sql()`show datestyle`).toEqual([{ DateStyle: 'ISO, MDY' }]);
  expect(Object.keys(process.env).filter((name) => name.startsWith('PG'))).toEqual([]);
});
