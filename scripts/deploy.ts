import { spawnSync } from 'node:child_process';
import { sources } from '../src/app/sources.ts';
import { assertConfigured } from './config/configuration.ts';
import { databaseUrlOf, isLocal } from './config/dev-vars.ts';
import { readConfigs } from './config/worker-config.ts';
import { describeDatabase } from './database/connect.ts';
import { migrate } from './database/migrations.ts';
import { readArguments } from './lib/arguments.ts';
import { UserError } from './lib/user-error.ts';

const USAGE = `DATABASE_URL=… npm run deploy

Migrates the database, then deploys the consumer, the receiver and, if there is one, the ops Worker.
DATABASE_URL is that of the owner of the tables, and comes from the shell only.`;

/**
 * The database first, because Workers answer 503 on old tables. Then the consumer, so that what the new receiver writes
 * into the queues is understood from its first message. The ops Worker depends on nobody, and may be missing.
 */
export default async function main(): Promise<void> {
  readArguments({ usage: USAGE });
  const { receiver, consumer, ops } = readConfigs();
  for (const hint of assertConfigured({ sources, receiver, consumer, ops })) console.log(`hint: ${hint}`);
  // Never from .dev.vars: that database is the local one, and the deployed Workers would find no tables.
  const { DATABASE_URL } = process.env;
  if (!DATABASE_URL || isLocal(databaseUrlOf(DATABASE_URL))) {
    throw new UserError(
      'set DATABASE_URL in the shell to the database that the deployed Workers use, as the owner of its tables: it is migrated first',
    );
  }
  console.log(`migrating ${describeDatabase(databaseUrlOf(DATABASE_URL))}`);
  const withoutRole = await migrate(DATABASE_URL);
  console.log('the database is up to date');
  for (const worker of withoutRole) {
    if (worker !== 'ops' || ops) console.log(`hint: the ${worker} has no role of its own: npm run db:roles creates it`);
  }
  for (const config of [consumer, receiver, ops]) {
    if (!config) continue;
    const { status } = spawnSync('node_modules/.bin/wrangler', ['deploy', '-c', config.path], { stdio: 'inherit' });
    if (status !== 0) throw new UserError(`wrangler could not deploy ${config.path}: its message is above`);
  }
}
