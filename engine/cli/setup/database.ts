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

/** The owner's URL: from the environment, or from the person. */
export async function findDatabase(terminal: Terminal): Promise<OwnerDatabase> {
  const question = `connection string of the database's owner (${NEON_CONSOLE}, Connect; not shown)`;
  const text = process.env.DATABASE_URL || (await terminal.askHidden(question));
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
}

/** Keeps other setups and deploys of this database out while it works. */
export function withDatabase<Result>(
  { url }: OwnerDatabase,
  receiver: string,
  work: (database: LockedDatabase) => Promise<Result>,
): Promise<Result> {
  const locked = async (client: pg.Client) => {
    const { rows } = await client.query<{ may: boolean }>(
      `select rolcreaterole and has_database_privilege(current_database(), 'create') as may
       from pg_roles where rolname = current_user`,
    );
    if (!rows[0]?.may) {
      throw new UserError(
        `the role ${decodeURIComponent(url.username)} may not create roles and schemas: use the URL of the database's owner (neondb_owner)`,
      );
    }
    return work({ client, served: await ownerOf(client, url, receiver) });
  };
  return asOwner(url.href, locked, DEPLOYING);
}

export function describe({ url, region }: OwnerDatabase): string {
  return `${describeDatabase(url)}, in ${region}`;
}
