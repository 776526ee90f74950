import { spawnSync } from 'node:child_process';
import { databaseUrlOf, isLocal } from './local/dev-vars.ts';
import { migrate } from './local/migrations.ts';
import { UserError } from './local/user-error.ts';

/** The database first: Workers that meet old tables answer 503. Then the receiver, whose queues the consumer needs. */
export default async function main(): Promise<void> {
  // Never from .dev.vars: that database is the local one, and the deployed Workers would find no tables.
  const { DATABASE_URL } = process.env;
  if (!DATABASE_URL || isLocal(databaseUrlOf(DATABASE_URL))) {
    throw new UserError(
      'set DATABASE_URL in the shell to the database that the deployed Workers use: it is migrated first',
    );
  }
  await migrate(DATABASE_URL);
  console.log('the database is up to date');
  for (const config of ['wrangler.toml', 'wrangler.consumer.toml']) {
    const { status } = spawnSync('node_modules/.bin/wrangler', ['deploy', '-c', config], { stdio: 'inherit' });
    if (status !== 0) throw new UserError(`wrangler could not deploy ${config}: what it says above is the reason`);
  }
}
