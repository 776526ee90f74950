import { getTableColumns, getTableName } from 'drizzle-orm';
import type { PgTable } from 'drizzle-orm/pg-core';
import pg from 'pg';
import { ourTables, type Rights, rightsOf, type WorkerKind } from '../../src/db/rights.ts';

export const WORKERS: readonly WorkerKind[] = ['receiver', 'consumer'];

/**
 * After a migration: grants what its tables and columns need to those roles that exist, and returns the Workers that have
 * none. It revokes nothing, because the Workers of the previous version still run, and may come back by a rollback.
 */
export async function grantRights(client: pg.Client): Promise<readonly WorkerKind[]> {
  const roles = await rolesOf(client);
  const relations = await ownedRelations(client);
  const present = WORKERS.filter((worker) => roles[worker].exists);
  const statements = present.flatMap((worker) => grants(worker, pg.escapeIdentifier(roles[worker].name), relations));
  await client.query(statements.join(';\n'));
  return WORKERS.filter((worker) => !roles[worker].exists);
}

export interface WorkerRole {
  readonly name: string;
  readonly exists: boolean;
  readonly isTooPowerful: boolean;
}

/** A role belongs to all databases of a server. With the database in its name, two databases don't share one. */
export async function rolesOf(client: pg.Client): Promise<Readonly<Record<WorkerKind, WorkerRole>>> {
  const { rows } = await client.query<WorkerRole & { worker: WorkerKind }>(
    `select worker, current_database() || '_' || worker as name, pg_roles.oid is not null as exists,
            coalesce(rolsuper or rolcreaterole or rolcreatedb or rolbypassrls or rolreplication, false)
            or exists (select from pg_auth_members where member = pg_roles.oid)
            or exists (select from pg_class where relowner = pg_roles.oid) as "isTooPowerful"
     from unnest($1::text[]) as worker left join pg_roles on rolname = current_database() || '_' || worker`,
    [WORKERS],
  );
  return Object.fromEntries(rows.map(({ worker, ...role }) => [worker, role])) as Record<WorkerKind, WorkerRole>;
}

export interface Relation {
  readonly schema: string;
  readonly name: string;
  readonly kind: 'table' | 'sequence';
  /** As it is written in a statement. */
  readonly sql: string;
}

/** The tables, views and sequences of the role that we are. An extension's belong to another, who decides about them. */
export async function ownedRelations(client: pg.Client): Promise<readonly Relation[]> {
  const { rows } = await client.query<Relation>(
    `select nspname as schema, relname as name, format('%I.%I', nspname, relname) as sql,
            case relkind when 'S' then 'sequence' else 'table' end as kind
     from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where relowner = current_user::regrole and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
       and nspname not like 'pg\\_%' and nspname <> 'information_schema'
     order by 1, 2`,
  );
  return rows;
}

/** Where drizzle-orm notes which migrations were applied. */
const MIGRATIONS_SCHEMA = 'drizzle';

export function grants(worker: WorkerKind, role: string, relations: readonly Relation[]): string[] {
  const ours = new Set(ourTables.map(getTableName));
  const apps = relations.filter(({ schema, name }) => schema !== MIGRATIONS_SCHEMA && !ours.has(name));
  const schemas = worker === 'consumer' ? new Set(['public', ...apps.map(({ schema }) => schema)]) : ['public'];
  return [
    ...Array.from(schemas, (schema) => `grant usage on schema ${pg.escapeIdentifier(schema)} to ${role}`),
    ...rightsOf(worker).flatMap(([table, rights]) => {
      const privileges = privilegesOf(table, rights);
      return privileges === '' ? [] : `grant ${privileges} on ${pg.escapeIdentifier(getTableName(table))} to ${role}`;
    }),
    // The handlers' changes: rows of the app's tables, whatever they are.
    ...(worker === 'consumer' ? apps : []).map(({ kind, sql }) =>
      kind === 'table'
        ? `grant select, insert, update, delete on ${sql} to ${role}`
        : `grant usage, select on sequence ${sql} to ${role}`,
    ),
  ];
}

function privilegesOf(table: PgTable, rights: Rights): string {
  const columns = getTableColumns(table);
  return (['select', 'insert', 'update', 'delete'] as const)
    .flatMap((privilege) => {
      const allowed = rights[privilege];
      if (allowed === undefined) return [];
      if (typeof allowed !== 'object') return privilege;
      return `${privilege} (${allowed.map((key) => pg.escapeIdentifier(columns[key]?.name ?? key)).join(', ')})`;
    })
    .join(', ');
}
