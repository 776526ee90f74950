// What a handler's statement would do to the transaction, the session and the engine's tables that it runs beside.
import { sql } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import {
  changesSettings,
  controlsTransaction,
  hasPlaceholder,
  namesEngine,
  queryOf,
} from '../../src/db/user-statement.ts';

describe('a statement that begins, ends or changes a transaction', () => {
  it.each([
    'begin',
    'BEGIN;',
    'commit',
    'rollback to savepoint a',
    'savepoint a',
    'release a',
    'abort',
    'end',
    'start transaction',
    'prepare transaction $1',
    'set transaction isolation level serializable',
    'SET LOCAL TRANSACTION read only',
    'set session transaction read only',
    '  ;; commit',
    '-- select\ncommit',
    '-- select\rcommit',
    '/* a /* nested */ comment */ commit',
    'start/**/transaction',
    'start -- x\n transaction',
    'COMMIT AND CHAIN',
    'End Transaction',
    'set local transaction_read_only = on',
    'set session transaction_isolation = serializable',
  ])('%j', (text) => {
    expect(controlsTransaction(text)).toBe(true);
  });

  it.each([
    '',
    'select 1',
    'start',
    'prepare plan as select 1',
    'insert into commits values (1)',
    'beginning',
    "select 'commit'",
    '/* commit */ select 1',
    '-- commit\nselect 1',
    '/* never closed commit',
    'set session characteristics',
    'set search_path = a',
  ])('%j is not one', (text) => {
    expect(controlsTransaction(text)).toBe(false);
  });
});

it.each([
  ['set local statement_timeout = 1', true],
  ['RESET all', true],
  ['select set_config ($1, $2, true)', true],
  ['/* x */ set a = 1', true],
  ['update a set b = 1', false],
  ['select reset, set from a', false],
  ['settle', false],
])('%j changes settings: %s', (text, changes) => {
  expect(changesSettings(text)).toBe(changes);
});

describe('a statement that names a table of the engine', () => {
  it.each([
    'select * from webhooks.events',
    'select 1 from a JOIN "webhooks"."effects" using (id)',
    'update webhooks . bodies set body = null',
    'insert into neondb.webhooks.alerts values (1)',
    'delete from a using webhooks.hours',
    'truncate table webhooks.events',
    'select 1 from only webhooks.events',
    'select 1 from -- comment\n webhooks.events',
    'select 1 from /* comment */ webhooks.events',
    'set search_path to webhooks',
    "select set_config('search_path', $1, true)",
    "set local schema 'webhooks'",
    "set session schema 'webhooks'",
    'set schema $1',
    'set search_path\nto webhooks',
    'table webhooks.events',
    'update only "webhooks"."events" set a = 1',
    'with gone as (delete from WEBHOOKS\n.\n"effects" returning 1) select * from gone',
    'insert into webhooks.bodies select 1',
    'update a set b = 0 from webhooks.alerts',
    'select 1 from a, webhooks.events',
    'delete from only (webhooks.events)',
    'select 1 from (webhooks.events cross join a)',
    'select "webhooks"."events" from a',
    "select '--' from webhooks.events",
    "select '/*', 'it''s' from webhooks.events -- '*/'",
    "select e'\\'--' from webhooks.events",
    "select e'a''b\\'--' from webhooks.events",
    "select date'2026-01-01', 'a\\' from webhooks.events --'",
    'select "--" from webhooks.events',
    "select $$it's$$ from webhooks.events where a = ''",
    'select $a$ $$ $a$, $1 from webhooks.events where b = $2',
    'select 1 from /* a /* b */ c */ webhooks.events',
    'do $$ begin delete from webhooks.events; end $$',
    "do $$ begin execute 'delete from webhooks.events'; end $$",
  ])('%j', (text) => {
    expect(namesEngine(text)).toBe(true);
  });

  it.each([
    'select * from events',
    'select * from public.events',
    'select "webhooks"."events" from public.webhooks',
    'update "webhooks" set "events" = 1 where a = 1 and "webhooks"."events" = 2',
    'select * from webhooks.mine',
    "insert into notes (text) values ('see webhooks.events')",
    "insert into notes (text) values (e'\\'webhooks.events')",
    '/* a /* b */ from webhooks.events */ select 1',
    'select * from my_webhooks.events',
    'select * from webhooks.events_of_mine',
    'update webhooks set events = 1',
    '-- from webhooks.events\nselect 1',
    'set search_path to public',
    'select schema from a where webhooks',
    'insert into notes (text) values ($1)',
  ])('%j is not one', (text) => {
    expect(namesEngine(text)).toBe(false);
  });
});

it('a statement is anything that Drizzle can convert to text and parameters', () => {
  const query = { sql: 'select $1', params: [1], more: 1 };
  expect(queryOf({ toSQL: () => query })).toEqual({ sql: 'select $1', params: [1] });
  expect(queryOf({ getQuery: () => query })).toEqual({ sql: 'select $1', params: [1] });
  for (const other of [
    undefined,
    null,
    'select 1',
    {},
    { toSQL: 1 },
    { toSQL: () => undefined },
    { toSQL: () => ({ sql: 1, params: [] }) },
    { toSQL: () => ({ sql: 'select 1', params: 'none' }) },
  ]) {
    expect(queryOf(other)).toBeUndefined();
  }
});

it('a parameter may be a placeholder that has no value yet', () => {
  const has = (...params: unknown[]) => hasPlaceholder({ sql: '', params });
  expect([has(), has(1, 'a'), has(sql.param(1))]).toEqual([false, false, false]);
  expect([has(1, sql.placeholder('a')), has(sql.param(sql.placeholder('a')))]).toEqual([true, true]);
});
