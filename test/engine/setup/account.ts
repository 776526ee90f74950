import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { LOOPBACK } from '../../../scripts/lib/port.ts';
import { type LocalDatabase, startDatabase } from '../../../scripts/local/stack.ts';
import { type Checkout, makeCheckout, type RunningCommand } from '../checkout.ts';
import { Cloudflare } from './cloudflare.ts';

/** A Neon host, which leads to this machine in every command and Worker. */
export const NEON_HOST = 'ep-cool-rain-1.eu-central-1.aws.neon.tech';

export interface Account {
  readonly cloudflare: Cloudflare;
  /** A fork, with the app of orders-app.ts. */
  readonly checkout: Checkout;
  /** Creates an empty database, and returns its owner's URL. */
  newDatabase(name: string): Promise<string>;
  /** Runs a command of the fork against the stand-ins. */
  run(args: readonly string[], env?: Record<string, string>): RunningCommand;
  sql<Row extends object>(databaseUrl: string, query: string): Promise<Row[]>;
}

/** An account at Cloudflare and one at Neon, for the tests of one file. */
export function useAccount(): Account {
  let database: LocalDatabase;
  let cloudflare: Cloudflare;
  let checkout: Checkout;
  const sql = async <Row extends object>(databaseUrl: string, query: string) => {
    const client = new pg.Client({ connectionString: databaseUrl.replace(NEON_HOST, LOOPBACK) });
    await client.connect();
    return client.query<Row>(query).then(
      ({ rows }) => client.end().then(() => rows),
      (error) => client.end().then(() => Promise.reject(error)),
    );
  };
  beforeAll(async () => {
    database = await startDatabase();
    cloudflare = await Cloudflare.start(database.neon.port);
    checkout = await makeCheckout();
  });
  afterAll(async () => {
    await cloudflare?.close();
    await database?.stop();
    await checkout?.remove();
    expect(cloudflare.unknown, 'what the stand-in of Cloudflare could not answer').toEqual([]);
  });
  return {
    get cloudflare() {
      return cloudflare;
    },
    get checkout() {
      return checkout;
    },
    async newDatabase(name) {
      await sql(database.databaseUrl, `create database ${name}`);
      const url = new URL(`/${name}`, database.databaseUrl);
      url.hostname = NEON_HOST;
      return url.href;
    },
    run: (args, env) => checkout.run(args, { ...cloudflare.env, ...env }),
    sql,
  };
}
