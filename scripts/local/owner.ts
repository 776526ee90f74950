import { connect } from '../database/connect.ts';
import { LOOPBACK } from '../lib/port.ts';
import { UserError } from '../lib/user-error.ts';
import type { Postgres } from './postgres.ts';

/** The group that gives Neon's roles their rights. Despite its name, its members are not superusers. */
const GROUP = 'neon_superuser';
const RIGHTS = 'createdb createrole bypassrls replication';

/** Creates the role that DATABASE_URL names, with the rights that a role of Neon has. Needs new data. */
export async function createRole({ port, superuser }: Postgres, user: string, password: string): Promise<void> {
  // Later the role is there, unless DATABASE_URL has changed, and then the first connection says so.
  if (!superuser) return;
  const client = await connect(`postgres://${superuser.user}:${superuser.password}@${LOOPBACK}:${port}/postgres`);
  try {
    await client.query(`
      create role ${GROUP} ${RIGHTS} in role pg_read_all_data, pg_write_all_data, pg_create_subscription;
      grant pg_monitor, pg_signal_backend to ${GROUP} with admin option;
      create role ${client.escapeIdentifier(user)} login ${RIGHTS} in role ${GROUP}
        password ${client.escapeLiteral(password)}`);
  } finally {
    await client.end();
  }
}

/** Creates the database that DATABASE_URL names if it is missing. The role owns it, and its public schema with it. */
export async function createDatabase(url: URL, name: string, dataDir: string): Promise<void> {
  const client = await connect(new URL('/postgres', url).href);
  try {
    const { rows } = await client.query(
      `select rolsuper, exists (select from pg_database where datname = $1) as created
       from pg_roles where rolname = current_user`,
      [name],
    );
    const [role] = rows as { rolsuper: boolean; created: boolean }[];
    if (role?.rolsuper) {
      throw new UserError(
        `the data in ${dataDir} was made by an earlier version, whose role could do more than a role of Neon: ` +
          'start over with npm run dev -- --fresh',
      );
    }
    if (!role?.created) await client.query(`create database ${client.escapeIdentifier(name)}`);
  } finally {
    await client.end();
  }
}
