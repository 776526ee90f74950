import { getTableColumns } from 'drizzle-orm';
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import pg from 'pg';
import { WORKERS, type WorkerKind } from '../config/worker-config.ts';
import { UserError } from '../lib/user-error.ts';
import { randomPassword } from '../local/postgres.ts';
import { asOwner } from './connect.ts';
import { engineTables, type Rights, rightsOf } from './rights.ts';

/**
 * A Worker gives up after 10 s, and Neon then cancels its statement. These are for a cancel that is lost. They are not
 * shorter, because a Worker tries again after its own time-out, and Postgres's error for a lock counts as an attempt.
 */
const TIMEOUTS = { lock_timeout: '10s', statement_timeout: '15s', idle_in_transaction_session_timeout: '10s' };

export interface RolesPlan {
  readonly statements: readonly string[];
  /** For each role that gets a password: the URL for the Worker's secret DATABASE_URL. */
  readonly urls: Partial<Record<WorkerKind, string>>;
}

export interface RolesOptions {
  /** The roles that get a new password although they exist. */
  readonly rotate: readonly WorkerKind[];
  /** Changes nothing. */
  readonly dryRun?: boolean;
}

/** Creates the three roles if they are missing, and gives them exactly the rights that this version needs. */
export async function createWorkerRoles(
  databaseUrl: string,
  { rotate, dryRun = false }: RolesOptions,
): Promise<RolesPlan> {
  return asOwner(databaseUrl, async (client) => {
    const plan = await planRoles(client, databaseUrl, rotate);
    // One transaction: no Worker ever sees its rights revoked and not yet granted.
    if (!dryRun) await client.query(plan.statements.join(';\n'));
    return plan;
  });
}

async function planRoles(client: pg.Client, databaseUrl: string, rotate: readonly WorkerKind[]): Promise<RolesPlan> {
  const roles = await rolesOf(client);
  const relations = await ownedRelations(client);
  const missing = engineTables.map(sqlName).find((table) => !relations.some(({ sql }) => sql === table));
  if (missing !== undefined) {
    throw new UserError(
      `the role in DATABASE_URL owns no table ${missing}: use the URL of the tables' owner, or run npm run db:migrate first`,
    );
  }
  const statements: string[] = [];
  const urls: Partial<Record<WorkerKind, string>> = {};
  for (const worker of WORKERS) {
    const { name, exists, isTooPowerful } = roles[worker];
    if (isTooPowerful) {
      throw new UserError(
        `the role ${name} may do more than a Worker needs (Neon's console makes such roles): drop it, and run this again`,
      );
    }
    const role = pg.escapeIdentifier(name);
    if (!exists || rotate.includes(worker)) {
      const password = randomPassword();
      statements.push(`${exists ? 'alter' : 'create'} role ${role} login password ${pg.escapeLiteral(password)}`);
      urls[worker] = withRole(databaseUrl, name, password);
    }
    for (const [setting, value] of Object.entries(TIMEOUTS)) {
      statements.push(`alter role ${role} set ${setting} = '${value}'`);
    }
    for (const relation of relations) statements.push(`revoke all on ${relation.kind} ${relation.sql} from ${role}`);
    for (const schema of new Set(relations.map(({ schema }) => schema))) {
      statements.push(`revoke all on schema ${pg.escapeIdentifier(schema)} from ${role}`);
    }
    statements.push(...grants(worker, role, relations));
  }
  return { statements, urls };
}

function withRole(databaseUrl: string, name: string, password: string): string {
  const url = new URL(databaseUrl);
  url.username = encodeURIComponent(name);
  url.password = password;
  return url.href;
}

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
  return WORKERS.filter((worker) => !present.includes(worker));
}

/** The Workers that have no role in this database. */
export async function workersWithoutRole(client: pg.Client): Promise<readonly WorkerKind[]> {
  const roles = await rolesOf(client);
  return WORKERS.filter((worker) => !roles[worker].exists);
}

/** The names of the Workers' roles that this database has. */
export async function workerRoles(client: pg.Client): Promise<readonly string[]> {
  const roles = Object.values(await rolesOf(client));
  return roles.filter(({ exists }) => exists).map(({ name }) => name);
}

interface WorkerRole {
  readonly name: string;
  readonly exists: boolean;
  readonly isTooPowerful: boolean;
}

/** A role belongs to all databases of a server. With the database in its name, two databases don't share one. */
async function rolesOf(client: pg.Client): Promise<Readonly<Record<WorkerKind, WorkerRole>>> {
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

interface Relation {
  readonly schema: string;
  readonly kind: 'table' | 'sequence';
  /** Its name as it is written in a statement. */
  readonly sql: string;
}

/** The tables, views and sequences of the role that we are. An extension's belong to another, who decides about them. */
async function ownedRelations(client: pg.Client): Promise<readonly Relation[]> {
  const { rows } = await client.query<Relation>(
    `select nspname as schema, format('%I.%I', nspname, relname) as sql,
            case relkind when 'S' then 'sequence' else 'table' end as kind
     from pg_class join pg_namespace on pg_namespace.oid = relnamespace
     where relowner = current_user::regrole and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
       and nspname not like 'pg\\_%' and nspname <> 'information_schema'
     order by 1, 2`,
  );
  return rows;
}

/** The engine's tables, and where drizzle-orm notes which migrations were applied. Everything else is the app's. */
const NOT_THE_APPS = new Set([...engineTables.map((table) => getTableConfig(table).schema), 'drizzle']);

function grants(worker: WorkerKind, role: string, relations: readonly Relation[]): string[] {
  const engine = rightsOf(worker).flatMap(([table, rights]) => {
    const privileges = privilegesOf(table, rights);
    return privileges === '' ? [] : `grant ${privileges} on ${sqlName(table)} to ${role}`;
  });
  const schemas = new Set(rightsOf(worker).map(([table]) => getTableConfig(table).schema ?? 'public'));
  const apps: string[] = [];
  if (worker === 'consumer') {
    // The handlers' changes: rows of the app's tables, whatever they are.
    schemas.add('public');
    for (const { schema, kind, sql } of relations) {
      if (NOT_THE_APPS.has(schema)) continue;
      schemas.add(schema);
      apps.push(
        kind === 'table'
          ? `grant select, insert, update, delete on ${sql} to ${role}`
          : `grant usage, select on sequence ${sql} to ${role}`,
      );
    }
  }
  const usage = Array.from(schemas, (schema) => `grant usage on schema ${pg.escapeIdentifier(schema)} to ${role}`);
  return [...usage, ...engine, ...apps];
}

/** As Postgres's `format('%I.%I', …)` writes it: the engine's names need no quotes. */
function sqlName(table: PgTable): string {
  const { schema, name } = getTableConfig(table);
  return `${schema}.${name}`;
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
