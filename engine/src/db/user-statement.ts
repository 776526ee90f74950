// The user's statements: those that a handler reads with, through a read-only handle of its own, and those that it returns,
// which are checked before they are committed.
import { type HTTPQueryOptions, NeonQueryPromise, neon } from '@neondatabase/serverless';
import { getTableName, is, Param, Placeholder, sql } from 'drizzle-orm';
import { drizzle, type NeonHttpDatabase } from 'drizzle-orm/neon-http';
import { PgTable } from 'drizzle-orm/pg-core';
import { checkedUrl } from './client.ts';
import { DatabaseError, TRANSACTION_CONTROL_REFUSED, UNMET_CONDITION } from './errors.ts';
import * as schema from './schema.ts';
import { webhooks } from './schema.ts';
import type { Query } from './sql.ts';

/** For handlers: builds statements, and reads. Postgres refuses every write through it. */
export type ReadOnlyDatabase = NeonHttpDatabase;

/**
 * Every query through this handle runs in a read-only transaction of its own, so that Postgres itself refuses a write
 * that a handler awaits. The refusal of transaction control closes the way around it: `commit`, and then the write.
 */
export function openReadOnlyDatabase(url: string | undefined, onRead = () => {}): ReadOnlyDatabase {
  const client = neon(checkedUrl(url), { readOnly: true });
  const { query, transaction: original } = client;
  const transaction: typeof client.transaction = (...call) => {
    onRead();
    return original(...call).catch((error: unknown) => {
      // The driver's errors hold values of parameters, and messages of Postgres that quote values.
      throw DatabaseError.fromDriver(error);
    });
  };
  const readOnly = (text: string, params: unknown[] = [], options?: HTTPQueryOptions<false, false>) => {
    if (controlsTransaction(text)) {
      throw new DatabaseError('a statement that controls the transaction was not sent', {
        retryable: false,
        code: TRANSACTION_CONTROL_REFUSED,
      });
    }
    // Neon knows read-only only for batches: this is a batch of one.
    const alone = async () => (await transaction([query(text, params, options)]))[0];
    return new NeonQueryPromise(alone, { query: text, params }, options);
  };
  return drizzle(Object.assign(client, { query: readOnly as typeof query, transaction }));
}

/**
 * Text and parameters of a Drizzle statement: a query builder, `db.execute(sql…)` or a prepared statement. `undefined`
 * for any other value. It may throw, if a value of the statement can't be converted for its column.
 */
export function queryOf(value: unknown): Query | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const build = Reflect.get(value, 'toSQL') ?? Reflect.get(value, 'getQuery');
  if (typeof build !== 'function') return undefined;
  const query = build.call(value) as Partial<Query> | undefined;
  return typeof query?.sql === 'string' && Array.isArray(query.params)
    ? { sql: query.sql, params: query.params }
    : undefined;
}

/** The same statement, if it can return its rows: an insert, update or delete that Drizzle builds gets a `returning`. */
export function returningRows(value: unknown): unknown {
  const builder = value as { returning?: unknown } | null | undefined;
  return typeof builder?.returning === 'function' ? builder.returning({ row: sql`1` }) : value;
}

/**
 * Wraps a statement so that it fails if it returns no row. Plain SQL can't raise an error, so a text that is not a number
 * is cast to one. Postgres quotes that text in its error, and errors.ts reads the index from it. `count(*)` is part of
 * the text, so that it can't be cast while planning.
 */
export function asCondition({ sql: text, params }: Query, index: number): Query {
  const failing = `('${UNMET_CONDITION}${index}, rows: ' || count(*))::int`;
  return {
    sql: `with change as (\n${text.replace(/[\s;]+$/, '')}\n) select ${failing} from change having count(*) = 0`,
    params,
  };
}

/** Whether a parameter is an `sql.placeholder()` that has no value yet. */
export function hasPlaceholder({ params }: Query): boolean {
  return params.some((param) => is(param, Placeholder) || (is(param, Param) && is(param.value, Placeholder)));
}

const TRANSACTION_CONTROL =
  /^((begin|commit|rollback|savepoint|release|abort|end)\b|(start|prepare) transaction\b|set ((local|session) )?transaction)/;

/**
 * Whether a statement would begin, end or change the transaction that it runs in. Its first words decide, because Neon
 * takes one statement at a time, and Postgres lets neither a `do` block nor a function end a transaction block.
 */
export function controlsTransaction(text: string): boolean {
  return TRANSACTION_CONTROL.test(firstWords(text));
}

/** Whether a statement changes settings, which would then hold for all later statements of its transaction. */
export function changesSettings(text: string): boolean {
  return /^(set|reset)\b/.test(firstWords(text)) || /\bset_config\s*\(/i.test(text);
}

const ENGINE_TABLES = Object.values(schema)
  .flatMap((one) => (is(one, PgTable) ? [getTableName(one)] : []))
  .join('|');
const SCHEMA = `(?<![\\w$])"?${webhooks.schemaName}\\b`;
const ENGINE_TABLE = `${SCHEMA}"?\\s*\\.\\s*"?(${ENGINE_TABLES})(?![\\w$])`;
/** There are many places where a table can be named: `from a, webhooks.events`, `delete from only (webhooks.events)` … */
const NAMES_ENGINE = new RegExp(ENGINE_TABLE, 'i');
/** In a statement about a table `webhooks` of the app, `"webhooks"."events"` may be one of its columns, except at these places. */
const HAS_TABLE_OF_THAT_NAME = new RegExp(`${SCHEMA}(?!"?\\s*\\.)`, 'i');
const NAMES_ENGINE_AS_TABLE = new RegExp(
  `\\b(from|join|update|into|using|only|table)\\s+("?\\w+"?\\s*\\.\\s*)?${ENGINE_TABLE}`,
  'i',
);
/** With a parameter, nobody can see which schema is meant. */
const SETS_SCHEMA = new RegExp(
  `\\b(search_path|set\\s+((local|session)\\s+)?schema)\\b.*(\\b${webhooks.schemaName}\\b|\\$\\d)`,
  'is',
);

/**
 * Whether a statement names a table of the engine, or lets unqualified names mean one. The consumer's role may complete
 * and delete events, so this keeps a handler's mistake away from them. (It doesn't stop an author who means to.)
 */
export function namesEngine(text: string): boolean {
  const code = codeOf(text, 'without literals');
  const names = HAS_TABLE_OF_THAT_NAME.test(code) ? NAMES_ENGINE_AS_TABLE : NAMES_ENGINE;
  return names.test(code) || SETS_SCHEMA.test(codeOf(text, 'with literals'));
}

/** A literal, a name in quotes, a comment or its beginning, and a text between `$$` or `$tag$`. */
const TOKEN =
  /(?<![\w$])e'(?:[^'\\]|\\.|'')*'|'[^']*'|"[^"]*"|--[^\n\r]*|\/\*|(?<![\w$])\$([a-z_]\w*)?\$(.*?)\$\1\$/gis;

/** A statement without its comments. A text between `$$` counts as code, because it may be a `do` block. */
function codeOf(text: string, literals: 'with literals' | 'without literals'): string {
  let code = '';
  let end = 0;
  while (true) {
    TOKEN.lastIndex = end;
    const match = TOKEN.exec(text);
    if (match === null) return code + text.slice(end);
    const { 0: token, 2: quoted, index } = match;
    const isComment = token.startsWith('--') || token === '/*';
    const isLiteral = token.endsWith("'");
    code += text.slice(end, index);
    end = token === '/*' ? text.length - afterComment(text.slice(index)).length : index + token.length;
    if (quoted !== undefined) code += ` ${codeOf(quoted, 'with literals')} `;
    else code += isComment || (isLiteral && literals === 'without literals') ? ' ' : token;
  }
}

/** The first three words in lower case. Before and between them, Postgres ignores spaces, comments and empty statements. */
function firstWords(text: string): string {
  const words: string[] = [];
  let rest = text;
  while (words.length < 3) {
    rest = rest.replace(/^[\s;]+/, '');
    if (rest.startsWith('--')) rest = rest.replace(/^--[^\n\r]*/, '');
    else if (rest.startsWith('/*')) rest = afterComment(rest);
    else {
      const word = /^\w+/.exec(rest)?.[0];
      if (word === undefined) break;
      words.push(word.toLowerCase());
      rest = rest.slice(word.length);
    }
  }
  return words.join(' ');
}

/** Comments of Postgres can contain comments. */
function afterComment(text: string): string {
  let depth = 0;
  for (const { 0: mark, index } of text.matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1;
    if (depth === 0) return text.slice(index + mark.length);
  }
  return '';
}
