import type { TestProject } from 'vitest/node';
import { connect } from '../cli/database/connect.ts';
import { LOOPBACK } from '../cli/lib/port.ts';
import { startStack } from '../cli/local/stack.ts';
import { createFixtureTables } from './fixture/database.ts';

declare module 'vitest' {
  interface ProvidedContext {
    postgres: SharedPostgres | undefined;
  }
}

/** A Postgres for all test files. Each makes its own database, as a copy of `template` (database.ts). */
export interface SharedPostgres {
  readonly port: number;
  readonly superuserUrl: string;
  /** The owner of every database. */
  readonly ownerUrl: string;
}

/** Several files test with fifty connections at a time. */
const MAX_CONNECTIONS = 500;

/** As if the developer's shell had set them, which must change nothing: local/role.test.ts. */
const SHELL = {
  TZ: 'Asia/Tokyo',
  PGHOST: 'db.example.com',
  PGUSER: 'someone',
  PGDATABASE: 'somewhere',
  PGSSLMODE: 'require',
  PGOPTIONS: '-c statement_timeout=1s',
  PGDATESTYLE: 'German',
};

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { TZ } = process.env;
  Object.assign(process.env, SHELL);
  const { databaseUrl, postgres, stop } = await startStack();
  if (TZ === undefined) delete process.env.TZ;
  else process.env.TZ = TZ;
  await createFixtureTables(databaseUrl);
  const { user = '', password = '' } = postgres.superuser ?? {};
  const superuserUrl = `postgres://${user}:${password}@${LOOPBACK}:${postgres.port}/postgres`;
  const superuser = await connect(superuserUrl);
  await superuser.query(`alter system set max_connections = ${MAX_CONNECTIONS}`);
  await superuser.end();
  await postgres.halt('SIGINT');
  await postgres.restart();
  project.provide('postgres', { port: postgres.port, superuserUrl, ownerUrl: databaseUrl });
  return stop;
}
