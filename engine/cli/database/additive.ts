import { existsSync, readFileSync } from 'node:fs';
import type pg from 'pg';
import { appliedMigrations, FOLDERS, type JournalEntry, readJournal } from './migrations.ts';

// While a deploy lasts, and after a rollback, the Workers of the version before work on the new tables. This file finds the
// statements that would break them, in the migrations that are not applied yet.

/**
 * An index on a larger table takes longer to build than a claim waits (1.5 s): our machine indexes 70 MB a second, and
 * Neon's smallest compute has a quarter of such a core.
 */
const LARGE_BYTES = 32 * 1024 * 1024;

/** What drizzle-kit notes of a table, by names. */
interface Table {
  readonly columns: Readonly<Record<string, { readonly default?: unknown }>>;
  readonly indexes: Readonly<Record<string, { readonly isUnique: boolean }>>;
  readonly uniqueConstraints: object;
  readonly compositePrimaryKeys: object;
}

type Tables = Readonly<Record<string, Table>>;

/** One sentence for each statement that would break the Workers that are deployed now, or keep their claims waiting. */
export async function unsafeStatements(client: pg.Client, folders = FOLDERS): Promise<string[]> {
  const scripts: { file: string; statements: string[] }[] = [];
  const used: Record<string, Table> = {};
  const next: Record<string, Table> = {};
  for (const [set, folder] of Object.entries(folders)) {
    const applied = await appliedMigrations(client, `${set}_migrations`);
    // On an empty database there is nothing that a Worker could use.
    if (applied.length === 0) continue;
    const entries = readJournal(folder);
    const done = entries.filter(({ when }) => applied.includes(when));
    Object.assign(used, newestTables(folder, done));
    Object.assign(next, newestTables(folder, entries));
    for (const { tag } of entries.filter((entry) => !done.includes(entry))) {
      const file = `${folder}/${tag}.sql`;
      scripts.push({ file, statements: statementsOf(readFileSync(file, 'utf8')) });
    }
  }
  const created = new Set(scripts.flatMap(({ statements }) => statements.flatMap(createdTable)));
  const judge = judgeOf({ client, used, next, created });
  const found: string[] = [];
  for (const { file, statements } of scripts) {
    for (const statement of statements) {
      for (const problem of await judge(statement)) if (problem) found.push(`${file} ${problem}`);
    }
  }
  return found;
}

interface Facts {
  readonly client: pg.Client;
  /** The tables as the deployed Workers know them. */
  readonly used: Tables;
  /** The tables as they will be. */
  readonly next: Tables;
  /** Tables that these migrations create. */
  readonly created: ReadonlySet<string>;
}

const NAME = String.raw`((?:"[^"]+"|\w+)(?:\.(?:"[^"]+"|\w+))?)`;
const pattern = (text: string) => new RegExp(text.replaceAll('NAME', NAME).replaceAll(' ', String.raw`\s+`), 'i');

const CREATE_TABLE = pattern('^create (?:unlogged )?table (?:if not exists )?NAME');
const DROP_TABLE = pattern('^drop table (?:if exists )?NAME');
const CREATE_INDEX = pattern('^create (?:unique )?index (concurrently )?(?:(if not exists )?NAME )?on (?:only )?NAME');
const ALTER_TABLE = pattern(String.raw`^alter table (?:if exists )?(?:only )?NAME ([\s\S]*)$`);
const RENAME_TABLE = pattern('^rename to NAME');
const RENAME_COLUMN = pattern('^rename (?:column )?NAME to NAME');
const DROP_COLUMN = pattern('^drop (?!constraint )(?:column )?(?:if exists )?NAME');
const DROP_CONSTRAINT = pattern('^drop constraint (?:if exists )?NAME');
const DROP_DEFAULT = pattern('^alter (?:column )?NAME drop default');
const DROP_INDEX = pattern('^drop index (?:concurrently )?(?:if exists )?NAME');
const ADD_COLUMN = pattern('^add (?!constraint |check |foreign |unique |primary )(?:column )?(?:if not exists )?NAME ');
const SET_NOT_NULL = pattern('^alter (?:column )?NAME set not null');
const SET_TYPE = pattern('^alter (?:column )?NAME (?:set data )?type ');
const ADD_CONSTRAINT = pattern('^add (?:constraint NAME )?(check|foreign key|unique|primary key|exclude)');

const FIRST = 'which the deployed Workers use: deploy code without it first, and do this with the next release';

const NO_DEFAULT = 'without a default, so the deployed Workers can insert no row: give it one';
const CREATE =
  'create it by hand first, with "create index concurrently", and write "if not exists" into the migration';
const BY_HAND = `a large table: ${CREATE}`;
const BY_COPY = 'add a column of the new type, fill it, and drop the old one with a later release';

/** Says what is wrong with a statement, if something is. */
function judgeOf({ client, used, next, created }: Facts) {
  const isUsed = (table: string, column?: string) => {
    const columns = used[table]?.columns;
    return columns !== undefined && (column === undefined || column in columns);
  };
  // The deployed Workers may name it in an `on conflict`, which fails without it.
  const isUniqueIn = (table: string, name: string) => {
    const { indexes, uniqueConstraints, compositePrimaryKeys } = used[table] ?? {};
    const key = `${table.split('.')[1]}_pkey`;
    return indexes?.[name]?.isUnique || name in { ...uniqueConstraints, ...compositePrimaryKeys, [key]: true };
  };

  async function judgeAction(table: string, action: string): Promise<string | undefined> {
    const columnIn = (form: RegExp) => {
      const name = form.exec(action)?.[1];
      return name && unquoted(name);
    };
    if (RENAME_TABLE.test(action)) return isUsed(table) ? `renames the table ${table}, ${FIRST}` : undefined;
    const renamed = columnIn(RENAME_COLUMN);
    if (renamed) return isUsed(table, renamed) ? `renames the column ${table}.${renamed}, ${FIRST}` : undefined;
    const dropped = columnIn(DROP_COLUMN);
    if (dropped) return isUsed(table, dropped) ? `drops the column ${table}.${dropped}, ${FIRST}` : undefined;
    const constraint = columnIn(DROP_CONSTRAINT);
    if (constraint) {
      return isUsed(table) && isUniqueIn(table, constraint)
        ? `drops the key ${constraint} of ${table}, ${FIRST}`
        : undefined;
    }
    const undefaulted = columnIn(DROP_DEFAULT);
    if (undefaulted) {
      return isUsed(table, undefaulted) ? `drops the default of ${table}.${undefaulted}, ${FIRST}` : undefined;
    }
    const added = columnIn(ADD_COLUMN);
    if (added) {
      const isFilled = /\b(default|generated|(small|big)?serial)\b/i.test(action) || !/\bnot\s+null\b/i.test(action);
      return isFilled || !isUsed(table) ? undefined : `adds ${table}.${added} as NOT NULL ${NO_DEFAULT}`;
    }
    const required = columnIn(SET_NOT_NULL);
    if (required) {
      const isFilled = next[table]?.columns[required]?.default !== undefined;
      return isFilled || !isUsed(table) ? undefined : `makes ${table}.${required} NOT NULL ${NO_DEFAULT}`;
    }
    const retyped = columnIn(SET_TYPE);
    const [, , kind] = ADD_CONSTRAINT.exec(action) ?? [];
    const isCheap = /\bnot\s+valid\b|\busing\s+index\b/i.test(action);
    if (!(retyped || (kind && !isCheap)) || !(await isLarge(client, table))) return undefined;
    if (retyped) return `changes the type of ${table}.${retyped}, a large table: ${BY_COPY}`;
    if (!/check|foreign/i.test(kind ?? '')) return `builds an index on ${table}, ${BY_HAND}`;
    return `adds a constraint that reads all of ${table}, a large table: add it as NOT VALID, and validate it with the next release`;
  }

  return async (statement: string): Promise<readonly (string | undefined)[]> => {
    const dropped = tableIn(DROP_TABLE.exec(statement)?.[1]);
    if (dropped) return [isUsed(dropped) ? `drops the table ${dropped}, ${FIRST}` : undefined];
    const index = DROP_INDEX.exec(statement)?.[1];
    if (index) {
      const [name = ''] = unquoted(index).split('.').slice(-1);
      const table = Object.keys(used).find((one) => used[one]?.indexes[name]?.isUnique);
      return [table ? `drops the key ${name} of ${table}, ${FIRST}` : undefined];
    }
    const [, concurrently, ifNotExists, name = '', on] = CREATE_INDEX.exec(statement) ?? [];
    const indexed = tableIn(on);
    if (indexed) {
      if (concurrently) return [`creates an index concurrently on ${indexed}, which fails in a migration: ${CREATE}`];
      if (created.has(indexed) || (ifNotExists && (await isThere(client, indexed, unquoted(name))))) return [];
      return [(await isLarge(client, indexed)) ? `builds an index on ${indexed}, ${BY_HAND}` : undefined];
    }
    const [, altered, actions = ''] = ALTER_TABLE.exec(statement) ?? [];
    const table = tableIn(altered);
    if (!table || created.has(table)) return [];
    return Promise.all(actionsOf(actions).map((action) => judgeAction(table, action)));
  };
}

/** Without comments and the contents of strings, which may look like statements. */
function statementsOf(script: string): string[] {
  return script
    .replaceAll(/--.*$|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|(\$\w*\$)[\s\S]*?\1/gm, ' ')
    .split(';')
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/** One statement may do several things to a table. A comma in brackets belongs to a type or an expression. */
function actionsOf(text: string): string[] {
  let depth = 0;
  const actions = [''];
  for (const char of text) {
    if (char === '(') depth++;
    if (char === ')') depth--;
    if (char === ',' && depth === 0) actions.push('');
    else actions.push(`${actions.pop()}${char}`);
  }
  return actions.map((action) => action.trim());
}

function createdTable(statement: string): string[] {
  const table = tableIn(CREATE_TABLE.exec(statement)?.[1]);
  return table ? [table] : [];
}

/** `"invoices"` → `public.invoices`, as a snapshot names it. */
function tableIn(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const plain = unquoted(name);
  return plain.includes('.') ? plain : `public.${plain}`;
}

function unquoted(name: string): string {
  return name.replaceAll(/"([^"]+)"|(\w+)/g, (_, quoted?: string, bare = '') => quoted ?? bare.toLowerCase());
}

/** The tables after the newest of these migrations, by names such as `public.invoices`. One by hand may have no snapshot. */
function newestTables(folder: string, entries: readonly JournalEntry[]): Tables {
  const files = entries.map(({ idx }) => `${folder}/meta/${String(idx).padStart(4, '0')}_snapshot.json`);
  const newest = files.findLast((file) => existsSync(file));
  return newest ? JSON.parse(readFileSync(newest, 'utf8')).tables : {};
}

async function isLarge(client: pg.Client, table: string): Promise<boolean> {
  const { rows } = await client.query<{ bytes: string | null }>(`select pg_table_size(to_regclass($1)) as bytes`, [
    quotedTable(table),
  ]);
  return Number(rows[0]?.bytes ?? 0) > LARGE_BYTES;
}

async function isThere(client: pg.Client, table: string, index: string): Promise<boolean> {
  const [schema = ''] = table.split('.');
  const { rows } = await client.query(`select to_regclass($1) as there`, [quotedTable(`${schema}.${index}`)]);
  return rows[0]?.there !== null;
}

function quotedTable(table: string): string {
  const [schema = '', ...name] = table.split('.');
  return `"${schema}"."${name.join('.')}"`;
}
