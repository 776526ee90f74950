import { getTableColumns } from 'drizzle-orm';
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import pg from 'pg';
import { WORKERS, type WorkerKind } from '../config/worker-config.ts';
import { UserError } from '../lib/user-error.ts';
import { randomPassword } from '../local/postgres.ts';
import { asOwner } from './connect.ts';
import { engineTables, type Rights, rightsOf } from './rights.ts';

/**
 * A Worker gives up after 10 s, and Neon then cancels its statement. These time-outs apply if the cancel gets lost.
 * They must not be shorter, because a Worker retries after its own time-out, but Postgres's error for a lock counts as
 * an attempt.
 */
const TIMEOUTS = { lock_timeout: '10s', statement_timeout: '15s', idle_in_transaction_session_timeout: '10s' };

export interface RolesPlan {
  readonly statements: readonly string[];
  /** For each role with a new password, the URL for the Worker's secret DATABASE_URL. */
  readonly urls: Partial<Record<WorkerKind, string>>;
}

export interface RolesOptions {
  /** Existing roles that get a new password. */
  readonly rotate: readonly WorkerKind[];
  /** Only returns the statements. */
  readonly dryRun?: boolean;
}

/** Creates missing roles, and gives all three exactly the rights that this version needs. */
export async function createWorkerRoles(
  databaseUrl: string,
  { rotate, dryRun = false }: RolesOptions,
): Promise<RolesPlan> {
  return asOwner(databaseUrl, async (client) => {
    const plan = await planRoles(client, databaseUrl, rotate);
    // One transaction, so that no Worker loses its rights in between.
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
 * After a migration, grants existing roles the rights on new tables and columns, and returns the Workers without a
 * role. It revokes nothing, because Workers of the previous version still run, and a rollback may bring them back.
 */
export async function grantRights(client: pg.Client): Promise<readonly WorkerKind[]> {
  const roles = await rolesOf(client);
  const relations = await ownedRelations(client);
  const present = WORKERS.filter((worker) => roles[worker].exists);
  const statements = present.flatMap((worker) => grants(worker, pg.escapeIdentifier(roles[worker].name), relations));
  await client.query(statements.join(';\n'));
  return WORKERS.filter((worker) => !present.includes(worker));
}

/** The Workers without a role in this database. */
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

/** Roles are shared by all databases of a server, so their names include the database. */
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
  /** The name, quoted for a statement. */
  readonly sql: string;
}

/** The tables, views and sequences that the current role owns. Those of extensions may belong to another role. */
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

/** The schemas of the engine's tables and of drizzle-orm's journals. All other schemas belong to the app. */
const NOT_THE_APPS = new Set([...engineTables.map((table) => getTableConfig(table).schema), 'drizzle']);

function grants(worker: WorkerKind, role: string, relations: readonly Relation[]): string[] {
  const engine = rightsOf(worker).flatMap(([table, rights]) => {
    const privileges = privilegesOf(table, rights);
    return privileges === '' ? [] : `grant ${privileges} on ${sqlName(table)} to ${role}`;
  });
  const schemas = new Set(rightsOf(worker).map(([table]) => getTableConfig(table).schema ?? 'public'));
  const apps: string[] = [];
  if (worker === 'consumer') {
    // Handlers may change rows of all the app's tables.
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

/** Matches Postgres's `format('%I.%I', …)`, because the engine's names need no quotes. */
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
