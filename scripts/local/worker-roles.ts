import { getTableName } from 'drizzle-orm';
import pg from 'pg';
import { ourTables, type WorkerKind } from '../../src/db/rights.ts';
import { grants, ownedRelations, rolesOf, WORKERS } from './grants.ts';
import { asOwner } from './migrations.ts';
import { randomPassword } from './postgres.ts';
import { UserError } from './user-error.ts';

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

/** Creates the two roles if they are missing, and gives them exactly the rights that this version needs. */
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
  const missing = ourTables.map(getTableName).filter((table) => !relations.some(({ name }) => name === table));
  if (missing.length > 0) {
    throw new UserError(
      `the role in DATABASE_URL owns no table ${missing[0]}: use the URL of the tables' owner, or run npm run db:migrate first`,
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
