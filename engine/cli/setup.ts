import { type Account, ApiError, addressOf, openAccount, PERMISSIONS } from './cloudflare/api.ts';
import { newRelease, ORDER } from './cloudflare/deploys.ts';
import { assertConfigured, sharedByEnvironments } from './config/configuration.ts';
import {
  addEnvironment,
  addPlacement,
  allEnvironments,
  filesWithout,
  placementOf,
  readConfigs,
  type WorkerConfigs,
} from './config/worker-config.ts';
import { noteOwner } from './database/connect.ts';
import { migrate, missingMigrations } from './database/migrations.ts';
import { createWorkerRoles, workersWithoutRole } from './database/worker-roles.ts';
import { loadHandlers, loadSources } from './lib/app.ts';
import { readArguments } from './lib/arguments.ts';
import { UserError } from './lib/user-error.ts';
import { assertFree, type Existing, ensureQueues, existing, makeSubdomain, missingQueues } from './setup/account.ts';
import {
  describe,
  findDatabase,
  type LockedDatabase,
  type OwnerDatabase,
  ownerNeeded,
  withDatabase,
} from './setup/database.ts';
import { chooseJurisdiction } from './setup/jurisdiction.ts';
import { lastSmoke, smoke, sourcesHeardOf } from './setup/smoke.ts';
import { type Made, summary, Terminal } from './setup/terminal.ts';
import { askForSecrets, ensureWorker, type Secrets } from './setup/workers.ts';
import { claimedUrl } from './try-live/claimable-database.ts';
import { readTrial } from './try-live/trial.ts';
import { writeTypes } from './types.ts';

const USAGE = `npm run setup [-- --env <name>] [--yes]

From nothing to production: looks at what is there, makes what is missing, and sends itself a delivery. Run it again at any
time: it goes on where it was, and changes nothing that is done.
  --env  an environment of its own, such as staging: added to the wrangler files if they lack it
  --yes  asks nothing. The environment has what it would ask for: CLOUDFLARE_API_TOKEN (${PERMISSIONS}),
         DATABASE_URL, and the secrets by their names: one that is missing is an error. QUEUES_JURISDICTION (eu, us, fedramp
         or any) says where queues keep messages: without it, where the database is.
         openssl rand -hex 32 makes one, if the sender lets you choose it`;

export default async function main(): Promise<void> {
  const { values } = readArguments({
    usage: USAGE,
    options: { env: { type: 'string', default: '' }, yes: { type: 'boolean', default: false } },
  });
  const { env: environment, yes } = values;
  if (!/^([a-z][a-z0-9-]*)?$/.test(environment))
    throw new UserError('--env takes a name such as staging: a-z, 0-9 and -');
  endAtSignals();
  const terminal = new Terminal({ asks: !yes });
  console.log(summary(await setUp(terminal, environment).finally(() => terminal.close())));
}

export function endAtSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    // npm passes on what the terminal has sent as well: a second one must not end us before the secrets are removed.
    process.on(signal, (_name: string, number: number) => {
      console.log('\nstopped. Run it again: it goes on where it was');
      process.exit(128 + number);
    });
  }
}

/**
 * `isTrial`: for temporary accounts (try-live), of which nobody knows all that they allow. It changes no file, makes do with one role in
 * Postgres and without a cron, deploys every time, and tries every source.
 */
export async function setUp(terminal: Terminal, environment: string, isTrial = false): Promise<Made> {
  const configs = readConfigs(environment, { planned: true });
  const { receiver } = configs;
  const sources = await loadSources();
  assertConfigured({ sources, ...configs });
  const others = allEnvironments().filter((one) => one !== environment);
  const shared = sharedByEnvironments([configs, ...others.map((one) => readConfigs(one))]);
  if (shared.length > 0) throw new UserError(shared.join('\n'));

  // First what is only looked at or asked for, so that a mistake is found before anything is made.
  const trial = isTrial || environment !== '' ? undefined : readTrial();
  const account = await openAccount(trial?.account?.id);
  const before = await existing(account, configs);
  assertFree(configs, before);
  let found = await addressOf(account, receiver);
  if (!found && receiver.raw.workers_dev !== false) {
    const page = `https://dash.cloudflare.com/${account.id}/workers/onboarding`;
    const remedy = `Open ${page}, which makes one, or run this without --yes, which asks for its name`;
    if (!terminal.isAsking && !isTrial) {
      throw new ApiError('the account has no workers.dev subdomain yet', remedy, 404);
    }
    await makeSubdomain(terminal, account, receiver.name);
    found = await addressOf(account, receiver);
  }
  const address = found ?? 'https://<its route>';
  terminal.step('ok', 'account', account.name);
  const database = await findDatabase(terminal, await claimedUrl(trial?.database));
  const undone = await withDatabase(database, receiver.name, async ({ served, mayMakeRoles }) => {
    if (!mayMakeRoles && !isTrial) throw ownerNeeded(database.url, 'roles');
    return undoneIn(configs, before, served);
  });
  terminal.step('ok', 'database', describe(database));
  const isComplete = missingQueues(configs, before.queues).length === 0;
  const jurisdiction = isTrial || isComplete ? undefined : await chooseJurisdiction(terminal, before, database.region);
  const secrets = await askForSecrets(configs, sources, before, terminal, `${address}/webhooks`);
  const question = `deploy ${undone} in ${account.name}, with ${describe(database)}?`;
  if (undone && !(await terminal.confirm(question))) throw new UserError('nothing was deployed');

  // No lock was held while a person looked for a secret, because Neon ends a session that is idle for so long.
  return withDatabase(database, receiver.name, async (locked) => {
    // From here on, every step can be the last: the next run goes on from it.
    if (!isTrial) writeFiles(terminal, configs, database.region, locked.served);
    const migrations = await missingMigrations(locked.client);
    if (migrations.length > 0) await migrate(database.url.href);
    terminal.step(migrations.length > 0 ? 'done' : 'ok', 'migrations', migrations.join(', ') || 'all are applied');
    const created = await ensureQueues(account, configs, before, jurisdiction);
    terminal.step(created ? 'done' : 'ok', 'queues', created || 'all are there');
    // A new queue has no consumer, and the Workers that are there send to the one that was deleted.
    const served = created ? [] : locked.served;
    await deployAll({ terminal, account, configs, before, secrets, database, locked: { ...locked, served }, isTrial });
    await sendSome(terminal, secrets, found, locked, isTrial);
    const heardOf = locked.served.length > 0 ? await sourcesHeardOf(locked.client) : [];
    const silent = Object.keys(sources).filter((source) => !heardOf.includes(source));
    const { workers } = await existing(account, configs);
    const stored = Object.fromEntries(Object.entries(workers).map(([name, worker]) => [name, worker?.secrets ?? []]));
    const consoleAddress = configs.ops && (await addressOf(account, configs.ops));
    return { configs, sources, account, address, console: consoleAddress, secrets, stored, silent };
  });
}

/** The Workers that were never deployed whole, or have lost a secret. */
function undoneIn(configs: WorkerConfigs, { workers }: Existing, served: readonly string[]): string {
  const isDone = (kind: (typeof ORDER)[number]) =>
    served.includes(kind) &&
    configs[kind]?.secrets.every((one) => workers[configs[kind]?.name ?? '']?.secrets.includes(one));
  return ORDER.flatMap((kind) => (isDone(kind) ? [] : (configs[kind]?.name ?? []))).join(', ');
}

function writeFiles(
  terminal: Terminal,
  { receiver, ops }: WorkerConfigs,
  region: string,
  served: readonly string[],
): void {
  const { environment } = receiver;
  const files = filesWithout(environment);
  for (const path of files) addEnvironment(path, environment);
  if (files.length > 0) {
    writeTypes();
    terminal.step('done', 'files', `added the environment ${environment} to ${files.join(', ')}`);
  }
  // It applies to what answers requests, so not to the consumer.
  for (const config of [receiver, ops]) {
    if (!config) continue;
    const { placement, isOwn } = placementOf(config);
    const where = `${region} in ${config.path}`;
    if (placement?.region === region) terminal.step('ok', 'region', where);
    else if (isOwn)
      terminal.step('needs', 'region', `${where}, which places the Worker elsewhere: the database is there`);
    else {
      addPlacement(config, region);
      const next = served.length > 0 ? ' (npm run deploy places the Worker there)' : '';
      terminal.step('done', 'region', `${where}, beside the database${next}`);
    }
  }
}

interface Context {
  readonly terminal: Terminal;
  readonly account: Account;
  readonly configs: WorkerConfigs;
  /** What was there at the beginning. */
  readonly before: Existing;
  readonly secrets: Secrets;
  readonly database: OwnerDatabase;
  readonly locked: LockedDatabase;
  readonly isTrial: boolean;
}

/** Consumer, receiver, ops: so what the receiver sends is understood from its first message. */
async function deployAll(context: Context): Promise<void> {
  const { terminal, account, configs, before, secrets, database, locked, isTrial } = context;
  const { client, served, mayMakeRoles } = locked;
  const release = newRelease();
  const withoutRole = mayMakeRoles ? await workersWithoutRole(client) : [];
  if (!mayMakeRoles) terminal.step('needs', 'roles', "the database's owner may not make any: all Workers use its own");
  const done = new Set(served);
  for (const kind of ORDER) {
    const config = configs[kind];
    if (!config) continue;
    const state = before.workers[config.name];
    const isDeployed = state !== undefined && served.includes(kind);
    const own = { ...secrets.values[config.name] };
    // A password can't be read again, so a Worker that may not have the right one gets a new one.
    if (!isDeployed || !state.secrets.includes('DATABASE_URL') || withoutRole.includes(kind)) {
      const roles = mayMakeRoles ? await createWorkerRoles(database.url.href, { rotate: [kind] }) : undefined;
      own.DATABASE_URL = roles?.urls[kind] ?? database.url.href;
    }
    // Secrets that were made up are shown just before they are stored. Earlier, a run that ends before this would have shown
    // secrets that are never used. Later, a run that ends in between would have stored secrets that were never shown.
    for (const secret of secrets.madeUp) {
      if (own[secret]) terminal.note(`made up, and only shown now: ${secret}=${own[secret]}`);
    }
    // Whoever tries something has changed its code since. In production, that is what npm run deploy is for.
    const options = { isDeployed: isDeployed && !isTrial, secrets: own, mayLackCron: isTrial };
    const outcome = await ensureWorker(account, config, release, options);
    if (outcome === 'without cron') {
      // It is not noted as done, so that setup deploys it with its cron when the account is somebody's.
      terminal.step('needs', kind, `deployed ${config.name} without its cron, which the account refuses`);
      continue;
    }
    if (outcome !== 'ok') await noteOwner(client, database.url, configs.receiver.name, [...done.add(kind)]);
    const names = Object.keys(own).join(', ');
    if (outcome === 'ok')
      terminal.step('ok', kind, `${config.name} is deployed (npm run deploy brings a newer version)`);
    else if (outcome === 'secrets') terminal.step('done', kind, `gave ${config.name} ${names}`);
    else terminal.step('done', kind, `deployed ${config.name}${names && `, with ${names}`}`);
  }
}

/** A delivery of one source that can sign it, once; in a trial one of each, every time. */
async function sendSome(
  terminal: Terminal,
  { keys }: Secrets,
  receiver: string | undefined,
  { client, served }: LockedDatabase,
  isTrial: boolean,
): Promise<void> {
  // In a copy of another database, the delivery was one of the other's Workers.
  const last = !isTrial && served.length > 0 ? await lastSmoke(client) : undefined;
  if (last) return terminal.step('ok', 'delivery', `one has gone the whole way: ${last}`);
  if (!receiver)
    return terminal.step('needs', 'delivery', 'send one to its route: npm run send -- <source> --url <its address>');
  const handlers = await loadHandlers();
  const sources = await loadSources();
  const each = isTrial ? Object.entries(sources).map(([name, source]) => ({ [name]: source })) : [sources];
  let count = 0;
  for (const some of each) {
    const sent = await smoke({ sources: some, handlers, keys, receiver, client });
    if (sent) terminal.step('done', 'delivery', sent);
    if (sent) count++;
  }
  if (count > 0) return;
  const isSecretNeeded = Object.values(sources).some(({ tenants }) => !tenants);
  const needed = isSecretNeeded
    ? 'set the secret of a source in the environment, such as GITHUB_WEBHOOK_SECRET, and run this again'
    : 'make a tenant (npm run ops -- tenants add), and let it send one';
  terminal.step('needs', 'delivery', needed);
}
