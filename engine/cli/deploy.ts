import type pg from 'pg';
import { type Account, addressOf, openAccount } from './cloudflare/api.ts';
import { deployWorkers, GOING_BACK } from './cloudflare/deploys.ts';
import { assertConfigured } from './config/configuration.ts';
import { databaseUrlOf, isLocal } from './config/dev-vars.ts';
import { readConfigs, type WorkerConfig, type WorkerConfigs } from './config/worker-config.ts';
import { unsafeStatements } from './database/additive.ts';
import { asOwner, DEPLOYING, describeDatabase, ownerOf } from './database/connect.ts';
import { migrate } from './database/migrations.ts';
import { unmigrated } from './database/schema-changes.ts';
import { loadHandlers, loadSources } from './lib/app.ts';
import { readArguments } from './lib/arguments.ts';
import { UserError } from './lib/user-error.ts';
import { existing, missingAtCloudflare } from './setup/account.ts';
import { type DeliveryOptions, firstDelivery, smoke } from './setup/smoke.ts';

const USAGE = `DATABASE_URL=… npm run deploy [-- --env <name>]

Migrates the database, then deploys the consumer, the receiver and, if there is one, the ops Worker. It checks everything
before the first change, and refuses to start while another deploy runs.
DATABASE_URL is read only from the shell, and is the URL of the tables' owner. With SMOKE_SOURCE and SMOKE_SECRET, the name of a
source and its secret, it sends a delivery through the new Workers and fails if it doesn't arrive.
To go back: npx wrangler rollback, for each Worker in the order of ${GOING_BACK}`;

export default async function main(): Promise<void> {
  const { values } = readArguments({ usage: USAGE, options: { env: { type: 'string', default: '' } } });
  const configs = readConfigs(values.env);
  for (const hint of assertConfigured({ sources: await loadSources(), ...configs })) console.log(`hint: ${hint}`);
  // Read only from the shell, because .dev.vars names the local database.
  const { DATABASE_URL } = process.env;
  if (!DATABASE_URL || isLocal(databaseUrlOf(DATABASE_URL))) {
    throw new UserError(
      'set DATABASE_URL in the shell to the database that the deployed Workers use, as the owner of its tables: it is migrated first',
    );
  }
  await asOwner(DATABASE_URL, (client) => deploy(configs, DATABASE_URL, client), DEPLOYING);
}

/** Migrates the database first, because new Workers answer 503 on old tables. */
async function deploy(configs: WorkerConfigs, databaseUrl: string, client: pg.Client): Promise<void> {
  const url = databaseUrlOf(databaseUrl);
  await ownerOf(client, url, configs.receiver.name);
  console.log('checking everything before the first change');
  const account = await openAccount();
  const options = await deliveryOptions(account, configs.receiver);
  const problems = await Promise.all([
    unmigrated(),
    existing(account, configs).then((found) => missingAtCloudflare(configs, found)),
    unsafeStatements(client),
    options && firstDelivery(options).then((delivery) => (delivery ? undefined : unsignable(options))),
  ]);
  const found = problems.flat().filter((problem) => problem !== undefined);
  if (found.length > 0) throw new UserError(['nothing was changed, because:', ...found].join('\n'));

  console.log(`migrating ${describeDatabase(url)}`);
  const withoutRole = await migrate(databaseUrl);
  console.log('the database is up to date');
  for (const worker of withoutRole) {
    if (worker !== 'ops' || configs.ops) {
      console.log(`hint: the ${worker} has no role of its own: npm run db:roles creates it`);
    }
  }
  await deployWorkers(configs);
  if (options) return sendOne(options, client);
  console.log('hint: with SMOKE_SOURCE and its SMOKE_SECRET in the shell, a delivery is sent through the new Workers');
}

/** The options of the final test delivery, if the shell has a source and its secret. */
async function deliveryOptions(account: Account, config: WorkerConfig): Promise<DeliveryOptions | undefined> {
  const { SMOKE_SOURCE, SMOKE_SECRET } = process.env;
  const receiver = await addressOf(account, config);
  if (!SMOKE_SOURCE || !SMOKE_SECRET || !receiver) return undefined;
  const handlers = await loadHandlers();
  return { sources: await loadSources(), handlers, keys: { [SMOKE_SOURCE]: SMOKE_SECRET }, receiver };
}

function unsignable({ keys }: DeliveryOptions): string {
  return `there is no delivery of ${Object.keys(keys)} that SMOKE_SECRET could sign and no handler takes`;
}

async function sendOne(options: DeliveryOptions, client: pg.Client): Promise<void> {
  try {
    const sent = await smoke({ ...options, client });
    if (!sent) throw new UserError(unsignable(options));
    console.log(`a delivery ${sent}`);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(
      `everything is deployed, but a delivery did not get through it: ${error.message}. To go back: ${GOING_BACK}`,
    );
  }
}
