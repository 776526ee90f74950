import pg from 'pg';
import { type Account, ApiError, openAccount } from '../cloudflare/api.ts';
import { asOwner, DEPLOYING } from '../database/connect.ts';
import { workerRoles } from '../database/worker-roles.ts';
import { UserError } from '../lib/user-error.ts';
import { existingOf, type Names } from '../setup/account.ts';
import type { Terminal } from '../setup/terminal.ts';
import { isUnclaimed } from './claimable-database.ts';
import { forgetTrial, ifAlive, readTrial, timeOf } from './trial.ts';

/** Removes what is still there. What fails is tried again by the next run. */
export async function removeTrial(terminal: Terminal): Promise<void> {
  const { account, database, names = { workers: [], queues: [] } } = readTrial();
  if (!account && !database) return console.log('there is nothing to remove');
  const question = 'remove the Workers and queues of the temporary account, and all that is in its database?';
  if (!(await terminal.confirm(question))) throw new UserError('nothing was removed');

  // First the database, which says what is deployed: after a failure, npm run try-live would deploy everything again.
  if (database && ifAlive(database)) {
    const isOurs = await isUnclaimed(database);
    if (isOurs) await asOwner(database.url, emptyDatabase, DEPLOYING);
    if (isOurs) terminal.step('done', 'Neon', `emptied the database. Neon deletes it at ${timeOf(database)}`);
    else terminal.step('needs', 'Neon', 'the database was claimed: it is yours to remove');
  } else if (database) terminal.step('ok', 'Neon', `the database has expired at ${timeOf(database)}`);

  if (account && ifAlive(account)) {
    Object.assign(process.env, { CLOUDFLARE_API_TOKEN: account.apiToken, CLOUDFLARE_ACCOUNT_ID: account.id });
    try {
      await emptyAccount(await openAccount(), names);
      terminal.step('done', 'Cloudflare', `removed the Workers and queues of ${account.name}`);
    } catch (error) {
      if (!(error instanceof ApiError) || (error.status !== 401 && error.status !== 403)) throw error;
      terminal.step(
        'needs',
        'Cloudflare',
        `${account.name} refuses its token: what you have claimed is yours to remove`,
      );
    }
  } else if (account) terminal.step('ok', 'Cloudflare', `${account.name} has expired at ${timeOf(account)}`);
  forgetTrial();
}

async function emptyAccount(account: Account, names: Names): Promise<void> {
  const { queues, workers } = await existingOf(account, names);
  // A Worker that is a queue's consumer can't be deleted, and neither can a queue that a Worker sends to.
  for (const { queue_id, consumers = [] } of queues) {
    for (const { consumer_id } of consumers)
      await account.send('DELETE', `/queues/${queue_id}/consumers/${consumer_id}`);
  }
  for (const name of names.workers) {
    if (workers[name]) await account.send('DELETE', `/workers/scripts/${name}?force=true`);
  }
  for (const { queue_id } of queues) await account.send('DELETE', `/queues/${queue_id}`);
}

/** neon.new has no request that deletes a database. */
async function emptyDatabase(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `select nspname as name from pg_namespace where nspowner = current_user::regrole or nspname = 'public'`,
  );
  const schemas = rows.map(({ name }) => pg.escapeIdentifier(name));
  const roles = (await workerRoles(client)).map((name) => pg.escapeIdentifier(name));
  await client.query(
    [...schemas.map((name) => `drop schema ${name} cascade`), ...roles.map((name) => `drop role ${name}`)].join(';\n'),
  );
}
