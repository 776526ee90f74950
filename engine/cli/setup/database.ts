import type pg from 'pg';
import { databaseUrlOf } from '../config/dev-vars.ts';
import { asOwner, DEPLOYING, describeDatabase, direct, ownerOf } from '../database/connect.ts';
import { UserError } from '../lib/user-error.ts';
import type { Terminal } from './terminal.ts';

const NEON_CONSOLE = 'https://console.neon.tech';

/** Neon's host names end with the region and the cloud. */
const HOST = /\.([a-z0-9-]+)\.(aws|azure)\.neon\.tech$/;

export interface OwnerDatabase {
  /** Of the owner of the tables, at Neon's direct host. */
  readonly url: URL;
  /** As wrangler's `placement.region` names it. */
  readonly region: string;
}

/** The owner's URL: from the environment, or from the person, who may have one of try-live. */
export async function findDatabase(terminal: Terminal, ofTrial?: string): Promise<OwnerDatabase> {
  const hint = ofTrial && `; Enter takes that of npm run try-live, on ${databaseUrlOf(ofTrial).hostname}`;
  const question = `connection string of the database's owner (${NEON_CONSOLE}, Connect; not shown${hint ?? ''})`;
  const text = process.env.DATABASE_URL || (await terminal.askHidden(question)) || (terminal.isAsking ? ofTrial : '');
  if (!text) {
    throw new UserError(`set DATABASE_URL to the connection string of the database's owner: ${NEON_CONSOLE}, Connect`);
  }
  const url = databaseUrlOf(text);
  const [, region, cloud] = HOST.exec(url.hostname) ?? [];
  if (!region) {
    throw new UserError(
      `DATABASE_URL is on ${url.hostname}, which is not Neon's: the Workers reach Postgres over Neon's HTTP interface. Make a project at ${NEON_CONSOLE}`,
    );
  }
  // Migrations need a session, which Neon's pooler doesn't give.
  url.hostname = direct(url.hostname);
  return { url, region: `${cloud}:${region}` };
}

export interface LockedDatabase {
  readonly client: pg.Client;
  /** The Workers that have the URL of their role in it. */
  readonly served: readonly string[];
  /** Otherwise they have the owner's. */
  readonly mayMakeRoles: boolean;
}

/** Keeps other setups and deploys of this database out while it works. */
export function withDatabase<Result>(
  { url }: OwnerDatabase,
  receiver: string,
  work: (database: LockedDatabase) => Promise<Result>,
): Promise<Result> {
  const locked = async (client: pg.Client) => {
    const { rows } = await client.query<{ roles: boolean; schemas: boolean }>(
      `select rolcreaterole as roles, has_database_privilege(current_database(), 'create') as schemas
       from pg_roles where rolname = current_user`,
    );
    if (!rows[0]?.schemas) throw ownerNeeded(url, 'schemas');
    return work({ client, served: await ownerOf(client, url, receiver), mayMakeRoles: rows[0].roles });
  };
  return asOwner(url.href, locked, DEPLOYING);
}

export function ownerNeeded({ username }: URL, what: 'roles' | 'schemas'): UserError {
  return new UserError(
    `the role ${decodeURIComponent(username)} may not create ${what}: use the URL of the database's owner (neondb_owner)`,
  );
}

export function describe({ url, region }: OwnerDatabase): string {
  return `${describeDatabase(url)}, in ${region}`;
}
