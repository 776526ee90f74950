// Handles the statements of user code: a handler reads through a read-only handle, and the statements that it returns
// are checked before they are committed.
import { type HTTPQueryOptions, NeonQueryPromise, neon } from '@neondatabase/serverless';
import { getTableName, is, Param, Placeholder, sql } from 'drizzle-orm';
import { drizzle, type NeonHttpDatabase } from 'drizzle-orm/neon-http';
import { PgTable } from 'drizzle-orm/pg-core';
import { checkedUrl } from './client.ts';
import { DatabaseError, TRANSACTION_CONTROL_REFUSED, UNMET_CONDITION } from './errors.ts';
import * as schema from './schema.ts';
import { webhooks } from './schema.ts';
import type { Query } from './sql.ts';

/** The handle that handlers read and build statements with. Postgres refuses every write through it. */
export type ReadOnlyDatabase = NeonHttpDatabase;

/**
 * Every query through this handle runs in its own read-only transaction, so that Postgres itself refuses a write that a
 * handler awaits. Transaction control is refused as well, because a handler could otherwise send `commit` and then the
 * write.
 */
export function openReadOnlyDatabase(url: string | undefined, onRead = () => {}): ReadOnlyDatabase {
  const client = neon(checkedUrl(url), { readOnly: true });
  const { query, transaction: original } = client;
  const transaction: typeof client.transaction = (...call) => {
    onRead();
    return original(...call).catch((error: unknown) => {
      // The driver's errors contain parameters, and Postgres messages that quote values.
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
    // Neon supports `readOnly` only for batches, so send a batch of one.
    const alone = async () => (await transaction([query(text, params, options)]))[0];
    return new NeonQueryPromise(alone, { query: text, params }, options);
  };
  return drizzle(Object.assign(client, { query: readOnly as typeof query, transaction }));
}

/**
 * Text and parameters of a Drizzle statement: a query builder, `db.execute(sql…)` or a prepared statement. `undefined`
 * for any other value. Throws if a value can't be converted for its column.
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

/** Adds a `returning` to an insert, update or delete that Drizzle builds. Returns any other value unchanged. */
export function returningRows(value: unknown): unknown {
  const builder = value as { returning?: unknown } | null | undefined;
  return typeof builder?.returning === 'function' ? builder.returning({ row: sql`1` }) : value;
}

/**
 * Wraps a statement so that it fails if it returns no row. Plain SQL can't raise an error, so it casts a text to a
 * number. Postgres quotes that text in its error, and errors.ts reads the index from it. The text includes `count(*)`,
 * so that Postgres can't evaluate the cast while planning.
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
 * Whether a statement would begin, end or change its transaction. Checking the first words is enough, because Neon
 * accepts one statement at a time, and in Postgres neither a `do` block nor a function can end a transaction block.
 */
export function controlsTransaction(text: string): boolean {
  return TRANSACTION_CONTROL.test(firstWords(text));
}

/** Whether a statement changes settings, which would affect all later statements of its transaction. */
export function changesSettings(text: string): boolean {
  return /^(set|reset)\b/.test(firstWords(text)) || /\bset_config\s*\(/i.test(text);
}

const ENGINE_TABLES = Object.values(schema)
  .flatMap((one) => (is(one, PgTable) ? [getTableName(one)] : []))
  .join('|');
const SCHEMA = `(?<![\\w$])"?${webhooks.schemaName}\\b`;
const ENGINE_TABLE = `${SCHEMA}"?\\s*\\.\\s*"?(${ENGINE_TABLES})(?![\\w$])`;
/** A table can be named in many places: `from a, webhooks.events`, `delete from only (webhooks.events)` … */
const NAMES_ENGINE = new RegExp(ENGINE_TABLE, 'i');
/**
 * If the app has a table `webhooks`, `"webhooks"."events"` may be one of its columns, except after the keywords in
 * NAMES_ENGINE_AS_TABLE.
 */
const HAS_TABLE_OF_THAT_NAME = new RegExp(`${SCHEMA}(?!"?\\s*\\.)`, 'i');
const NAMES_ENGINE_AS_TABLE = new RegExp(
  `\\b(from|join|update|into|using|only|table)\\s+("?\\w+"?\\s*\\.\\s*)?${ENGINE_TABLE}`,
  'i',
);
/** A parameter is refused too, because it may contain the engine's schema. */
const SETS_SCHEMA = new RegExp(
  `\\b(search_path|set\\s+((local|session)\\s+)?schema)\\b.*(\\b${webhooks.schemaName}\\b|\\$\\d)`,
  'is',
);

/**
 * Whether a statement names a table of the engine, or makes unqualified names refer to one. The consumer's role may
 * complete and delete events, so this protects them from a handler's mistake. (It doesn't stop malicious code.)
 */
export function namesEngine(text: string): boolean {
  const code = codeOf(text, 'without literals');
  const names = HAS_TABLE_OF_THAT_NAME.test(code) ? NAMES_ENGINE_AS_TABLE : NAMES_ENGINE;
  return names.test(code) || SETS_SCHEMA.test(codeOf(text, 'with literals'));
}

/** A literal, a quoted name, a comment or its beginning, or a text between `$$` or `$tag$`. */
const TOKEN =
  /(?<![\w$])e'(?:[^'\\]|\\.|'')*'|'[^']*'|"[^"]*"|--[^\n\r]*|\/\*|(?<![\w$])\$([a-z_]\w*)?\$(.*?)\$\1\$/gis;

/** Removes comments. A text between `$$` counts as code, because it may be a `do` block. */
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

/** The first three words in lower case. Skips spaces, comments and empty statements, as Postgres does. */
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

/** The text after a comment. Comments in Postgres can be nested. */
function afterComment(text: string): string {
  let depth = 0;
  for (const { 0: mark, index } of text.matchAll(/\/\*|\*\//g)) {
    depth += mark === '/*' ? 1 : -1;
    if (depth === 0) return text.slice(index + mark.length);
  }
  return '';
}
