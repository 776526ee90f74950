import { spawnSync } from 'node:child_process';
import { sources } from '../src/app/sources.ts';
import { readArguments } from './local/arguments.ts';
import { CONSUMER_CONFIG, RECEIVER_CONFIG, readConfig } from './local/config.ts';
import { assertConfigured } from './local/configuration.ts';
import { databaseUrlOf, isLocal } from './local/dev-vars.ts';
import { migrate } from './local/migrations.ts';
import { UserError } from './local/user-error.ts';

/** The database first, because Workers answer 503 on old tables. Then the receiver, whose queues the consumer needs. */
export default async function main(): Promise<void> {
  readArguments({});
  const configuration = { sources, receiver: readConfig(RECEIVER_CONFIG), consumer: readConfig(CONSUMER_CONFIG) };
  for (const hint of assertConfigured(configuration)) console.log(`hint: ${hint}`);
  // Never from .dev.vars: that database is the local one, and the deployed Workers would find no tables.
  const { DATABASE_URL } = process.env;
  if (!DATABASE_URL || isLocal(databaseUrlOf(DATABASE_URL))) {
    throw new UserError(
      'set DATABASE_URL in the shell to the database that the deployed Workers use, as the owner of its tables: it is migrated first',
    );
  }
  const withoutRole = await migrate(DATABASE_URL);
  console.log('the database is up to date');
  if (withoutRole.length > 0) {
    console.log(
      `hint: the ${withoutRole.join(' and the ')} have no role of their own here: npm run db:roles creates it`,
    );
  }
  for (const config of [RECEIVER_CONFIG, CONSUMER_CONFIG]) {
    const { status } = spawnSync('node_modules/.bin/wrangler', ['deploy', '-c', config], { stdio: 'inherit' });
    if (status !== 0) throw new UserError(`wrangler could not deploy ${config}: its message is above`);
  }
}
