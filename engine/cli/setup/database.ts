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

/** The owner's URL: from the environment, from a project that Neon's API knows or makes, or from the person. */
export async function findDatabase(
  terminal: Terminal,
  { name, dryRun }: { readonly name: string; readonly dryRun: boolean },
): Promise<OwnerDatabase | undefined> {
  const { DATABASE_URL, NEON_API_KEY } = process.env;
  if (DATABASE_URL) return checked(terminal, DATABASE_URL);
  if (NEON_API_KEY) {
    const uri = await neonProject(terminal, NEON_API_KEY, name, dryRun);
    return uri === undefined ? undefined : checked(terminal, uri);
  }
  if (!terminal.isAsking) {
    if (dryRun) return undefined;
    throw new UserError(`set DATABASE_URL to the connection string of the database's owner: ${NEON_CONSOLE}, Connect`);
  }
  const answer = await terminal.askHidden(
    `connection string of the database's owner (${NEON_CONSOLE}, Connect; not shown)`,
  );
  return checked(terminal, answer);
}

/** Migrations need a session, which Neon's pooler doesn't give: its host is the direct one with "-pooler" in the first label. */
function checked(terminal: Terminal, text: string): OwnerDatabase {
  const url = databaseUrlOf(text);
  const [, region, cloud] = HOST.exec(url.hostname) ?? [];
  if (!region) {
    throw new UserError(
      `DATABASE_URL is on ${url.hostname}, which is not Neon's: the Workers reach Postgres over Neon's HTTP interface. Make a project at ${NEON_CONSOLE}`,
    );
  }
  const host = direct(url.hostname);
  if (host !== url.hostname) terminal.note(`this is Neon's pooled host: its direct one is used, ${host}`);
  url.hostname = host;
  return { url, region: `${cloud}:${region}` };
}

export interface LockedDatabase {
  readonly client: pg.Client;
  /** The Workers that have the URL of their role in it. */
  readonly served: readonly string[];
}

/** Keeps other setups and deploys of this database out while it works. */
export function withDatabase(
  { url }: OwnerDatabase,
  receiver: string,
  work: (database: LockedDatabase) => Promise<void>,
): Promise<void> {
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
    await work({ client, served: await ownerOf(client, url, receiver) });
  };
  return asOwner(url.href, locked, DEPLOYING);
}

export function describe({ url, region }: OwnerDatabase): string {
  return `${describeDatabase(url)}, in ${region}`;
}

interface Project {
  readonly id: string;
  readonly name: string;
}

/** The project of this name: the one that there is, or a new one. Its owner and database have the names that Neon gives. */
async function neonProject(
  terminal: Terminal,
  key: string,
  name: string,
  dryRun: boolean,
): Promise<string | undefined> {
  // A personal key serves several organizations. That of an organization needs no name.
  const organization = process.env.NEON_ORG_ID ? { org_id: process.env.NEON_ORG_ID } : {};
  // Parts of a name match as well. 400 is the most that one answer holds.
  const search = new URLSearchParams({ search: name, limit: '400', ...organization });
  const { projects } = await neon<{ projects: Project[] }>(key, 'GET', `/projects?${search}`);
  const project = projects.find((one) => one.name === name);
  if (project) {
    const names = 'database_name=neondb&role_name=neondb_owner&pooled=false';
    terminal.note(`Neon's project ${name}, which NEON_API_KEY finds`);
    return (await neon<{ uri: string }>(key, 'GET', `/projects/${project.id}/connection_uri?${names}`)).uri;
  }
  if (dryRun) {
    terminal.step('would', 'neon', `make the project ${name}, because NEON_API_KEY is set and DATABASE_URL is not`);
    return undefined;
  }
  const region = await terminal.ask(`region of the new Neon project ${name}, near your senders`, 'aws-us-east-2');
  const made = await neon<{ connection_uris: { connection_uri: string }[] }>(key, 'POST', '/projects', {
    project: { name, region_id: region, ...organization },
  });
  terminal.step('done', 'neon', `made the project ${name} in ${region}`);
  return made.connection_uris[0]?.connection_uri;
}

async function neon<Result>(key: string, method: string, path: string, body?: object): Promise<Result> {
  const response = await fetch(`${NEON_CONSOLE}/api/v2${path}`, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', accept: 'application/json' },
    signal: AbortSignal.timeout(30_000),
    ...(body ? { body: JSON.stringify(body) } : {}),
  }).catch((error: Error) => {
    throw new UserError(`Neon could not be reached (${error.name}): check the network, and run this again`);
  });
  const json: unknown = await response.json().catch(() => undefined);
  if (response.ok) return json as Result;
  const remedy =
    response.status === 401
      ? `make a key at ${NEON_CONSOLE}/app/settings/api-keys`
      : 'run this again (a personal key needs NEON_ORG_ID: it is in the settings of the organization)';
  throw new UserError(
    `Neon's API answers ${response.status} (${Reflect.get(Object(json), 'message') ?? 'no reason'}): ${remedy}, or set DATABASE_URL`,
  );
}
