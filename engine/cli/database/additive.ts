import { existsSync, readFileSync } from 'node:fs';
import type pg from 'pg';
import { appliedMigrations, FOLDERS, type JournalEntry, readJournal } from './migrations.ts';

// During a deploy, and after a rollback, Workers of the previous version run on the new tables. This file finds
// statements that would break them in the migrations that are not applied yet.

/**
 * For a larger table, building an index takes longer than a claim waits (1.5 s). Our machine indexes 70 MB a second,
 * and Neon's smallest compute has a quarter of such a core.
 */
const LARGE_BYTES = 32 * 1024 * 1024;

/** A table in a snapshot of drizzle-kit. */
interface Table {
  readonly columns: Readonly<Record<string, { readonly default?: unknown }>>;
  readonly indexes: Readonly<Record<string, { readonly isUnique: boolean }>>;
  readonly uniqueConstraints: object;
  readonly compositePrimaryKeys: object;
}

/** One sentence for each statement that would break the deployed Workers or block their claims. */
export async function unsafeStatements(client: pg.Client, folders = FOLDERS): Promise<string[]> {
  const used = new Set<string>();
  const next: Record<string, Table> = {};
  const pending: { file: string; table: string; action: string }[] = [];
  for (const [set, folder] of Object.entries(folders)) {
    const applied = await appliedMigrations(client, `${set}_migrations`);
    // No Worker uses an empty database yet.
    if (applied.length === 0) continue;
    const entries = readJournal(folder);
    const done = entries.filter(({ when }) => applied.includes(when));
    for (const name of namesIn(newestTables(folder, done))) used.add(name);
    Object.assign(next, newestTables(folder, entries));
    for (const { tag } of entries.filter((entry) => !done.includes(entry))) {
      const file = `${folder}/${tag}.sql`;
      pending.push(...actionsIn(readFileSync(file, 'utf8')).map((one) => ({ file, ...one })));
    }
  }
  const found: string[] = [];
  for (const { file, table, action } of pending) {
    const name = (form: string) => nameIn(form, action);
    const column = (form: string) => name(form) && `${table}.${name(form)}`;
    const key = name('drop constraint NAME');
    const dropped = qualified(name('drop (?:table|index) NAME') ?? (key && `${table.split('.')[0]}.${key}`));
    const takenAway = Object.entries({
      drops: dropped ?? column('drop (?:column )?NAME'),
      'drops the default of': column('alter (?:column )?NAME drop default'),
      renames: /^rename\s+to\s/i.test(action) ? table : column('rename (?:column )?NAME to '),
    });
    for (const [does, what = ''] of takenAway) if (used.has(what)) found.push(`${file} ${does} ${what}, ${FIRST}`);

    const required = name('alter (?:column )?NAME set not null');
    const added = /^add\s.*\bnot\s+null\b/is.test(action)
      ? name('add (?!constraint |check )(?:column )?NAME ')
      : undefined;
    const isFilled = /\b(default|generated|\w*serial)\b/i.test(action) || next[table]?.columns[required ?? '']?.default;
    if ((added ?? required) && !isFilled && used.has(table)) {
      found.push(`${file} makes ${table}.${added ?? required} ${NO_DEFAULT}`);
    }

    const isCheap = /\bnot\s+valid\b|\busing\s+index\b/i.test(action);
    const index = name('create (?:unique )?index if not exists NAME');
    const indexed = qualified(name(`create (?:unique )?index (?:if not exists )?(?:${PLAIN} )?on (?:only )?NAME`));
    const whole = indexed ?? (READS_ALL.test(action) && !isCheap ? table : '');
    if (index && (await bytesOf(client, `${whole.split('.')[0]}.${index}`)) > 0) continue;
    if ((await bytesOf(client, whole)) > LARGE_BYTES) found.push(`${file} reads all of ${whole}, ${BY_HAND}`);
  }
  return found;
}

const FIRST = 'which the deployed Workers use: deploy code without it first, and do this with the next release';
const NO_DEFAULT = 'NOT NULL without a default, so the deployed Workers can no longer insert rows: add a default';
const BY_HAND = 'a large table, and blocks claims meanwhile. docs/deploy.md says what to do instead (Change tables)';

const READS_ALL =
  /^(add\s+(constraint\s+\S+\s+)?(check|foreign|unique|primary|exclude)\b|alter\s+(column\s+)?\S+\s+(set\s+data\s+)?type\s)/i;

const PLAIN = String.raw`(?:"[^"]+"|\w+)(?:\.(?:"[^"]+"|\w+))?`;

/** Finds the name at NAME in a statement's beginning, in the form that snapshots use. */
function nameIn(form: string, text: string): string | undefined {
  const pattern = `^${form.replace('NAME', `(?:if (?:not )?exists )?(${PLAIN})`)}`;
  const [, found] = new RegExp(pattern.replaceAll(' ', String.raw`\s+`), 'i').exec(text) ?? [];
  return found?.replaceAll(/"([^"]+)"|(\w+)/g, (_, quoted?: string, bare = '') => quoted ?? bare.toLowerCase());
}

/** `invoices` → `public.invoices` */
function qualified(name: string | undefined): string | undefined {
  return name && (name.includes('.') ? name : `public.${name}`);
}

/** Splits a script into statements, and an `alter table` into its actions, each with its table. */
function actionsIn(script: string): { table: string; action: string }[] {
  return (
    script
      // Remove comments and strings, because they may look like statements. Commas in brackets don't separate actions.
      .replaceAll(/--.*$|\/\*[\s\S]*?\*\/|'(?:[^']|'')*'|(\$\w*\$)[\s\S]*?\1/gm, ' ')
      .split(';')
      .flatMap((statement) => {
        const text = statement.trim();
        const table = qualified(nameIn('alter table (?:if exists )?(?:only )?NAME', text)) ?? '';
        if (table === '') return { table, action: text };
        const actions = text.replace(/^alter\s+table\s+(if\s+exists\s+)?(only\s+)?("[^"]+"|[\w.])+/i, '');
        return actions.split(/,(?![^(]*\))/).map((action) => ({ table, action: action.trim() }));
      })
  );
}

/** All names that Workers may use in a statement, including keys for `on conflict`. */
function namesIn(tables: Readonly<Record<string, Table>>): string[] {
  return Object.entries(tables).flatMap(([table, { columns, indexes, uniqueConstraints, compositePrimaryKeys }]) => {
    const [schema, name] = table.split('.');
    const unique = Object.keys(indexes).filter((index) => indexes[index]?.isUnique);
    const keys = [...unique, ...Object.keys({ ...uniqueConstraints, ...compositePrimaryKeys }), `${name}_pkey`];
    return [
      table,
      ...Object.keys(columns).map((column) => `${table}.${column}`),
      ...keys.map((key) => `${schema}.${key}`),
    ];
  });
}

/**
 * The tables after the newest of these migrations, by names such as `public.invoices`. A handwritten migration may lack
 * a snapshot.
 */
function newestTables(folder: string, entries: readonly JournalEntry[]): Readonly<Record<string, Table>> {
  const files = entries.map(({ idx }) => `${folder}/meta/${String(idx).padStart(4, '0')}_snapshot.json`);
  const newest = files.findLast((file) => existsSync(file));
  return newest ? JSON.parse(readFileSync(newest, 'utf8')).tables : {};
}

/** The size of a table or an index. 0 if it doesn't exist. */
async function bytesOf(client: pg.Client, name: string): Promise<number> {
  const there = `"${name.replace('.', '"."')}"`;
  const { rows } = await client.query(`select coalesce(pg_table_size(to_regclass($1)), 0) as bytes`, [there]);
  return Number(rows[0]?.bytes);
}
