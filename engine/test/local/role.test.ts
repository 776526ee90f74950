import { neon } from '@neondatabase/serverless';
import { expect, it } from 'vitest';
// Points the driver at loopback hosts, as in the Workers.
import '../../src/db/user-statement.ts';
import { useDatabase } from '../database.ts';

const database = useDatabase();
const sql = () => neon(database.stack.databaseUrl);

it('the role of DATABASE_URL is no superuser, but owns its database, and can create roles and databases, as at Neon', async () => {
  const name = new URL(database.stack.databaseUrl).pathname.slice(1);
  await database.sql('create role another; create schema extra');
  await database.sql('create database another owner claimcheck');
  await database.sql(`comment on schema public is 'mine'; comment on database ${name} is 'mine'`);
  for (const statement of [
    `select pg_read_file('PG_VERSION')`,
    `alter system set work_mem = '8MB'`,
    'create extension file_fdw',
    `copy (select 1) to program 'true'`,
  ]) {
    await expect(sql().query(statement), statement).rejects.toMatchObject({ code: '42501' });
  }
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
