import { type Account, PERMISSIONS } from './cloudflare/api.ts';
import { newRelease, ORDER } from './cloudflare/deploys.ts';
import { assertConfigured, sharedByEnvironments } from './config/configuration.ts';
import {
  addEnvironment,
  addPlacement,
  allEnvironments,
  filesWithout,
  listed,
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
import {
  assertFree,
  chooseSubdomain,
  type Existing,
  ensureQueues,
  existing,
  logIn,
  missingQueues,
} from './setup/account.ts';
import { describe, findDatabase, type LockedDatabase, type OwnerDatabase, withDatabase } from './setup/database.ts';
import { lastSmoke, smoke, sourcesHeardOf } from './setup/smoke.ts';
import { summary, Terminal } from './setup/terminal.ts';
import { askForSecrets, ensureWorker, isDeployed, type Secrets } from './setup/workers.ts';
import { writeTypes } from './types.ts';

const USAGE = `npm run setup [-- --env <name>] [--dry-run] [--yes]

From nothing to production: looks at what is there, makes what is missing, and sends itself a delivery. Run it again at any
time: it goes on where it was, and changes nothing that is done.
  --env       an environment of its own, such as staging: added to the wrangler files if they lack it
  --dry-run   only says what it would do. It asks nothing
  --yes       asks nothing. The environment has what it would ask for: CLOUDFLARE_API_TOKEN (${PERMISSIONS}),
              CLOUDFLARE_ACCOUNT_ID, DATABASE_URL or NEON_API_KEY (a personal one also needs NEON_ORG_ID), and the secrets
              by their names: one that is missing is an error. openssl rand -hex 32 makes one for a sender that takes yours`;

export default async function main(): Promise<void> {
  const { values } = readArguments({
    usage: USAGE,
    options: {
      env: { type: 'string', default: '' },
      'dry-run': { type: 'boolean', default: false },
      yes: { type: 'boolean', default: false },
    },
  });
  const { env: environment, 'dry-run': dryRun, yes } = values;
  if (!/^([a-z][a-z0-9-]*)?$/.test(environment))
    throw new UserError('--env takes a name such as staging: a-z, 0-9 and -');
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const) {
    // npm passes on what the terminal has sent as well: a second one must not end us before the secrets are removed.
    process.on(signal, () => {
      console.log('\nstopped. Run it again: it goes on where it was');
      process.exit(code);
    });
  }
  const terminal = new Terminal({ asks: !yes && !dryRun });
  await setUp(terminal, environment, dryRun).finally(() => terminal.close());
}

interface Context {
  readonly terminal: Terminal;
  readonly account: Account;
  readonly configs: WorkerConfigs;
  /** What was there at the beginning. */
  readonly before: Existing;
}

async function setUp(terminal: Terminal, environment: string, dryRun: boolean): Promise<void> {
  const configs = readConfigs(environment, { planned: true });
  const sources = await loadSources();
  assertConfigured({ sources, ...configs });
  const others = allEnvironments().filter((one) => one !== environment);
  const shared = sharedByEnvironments([configs, ...others.map((one) => readConfigs(one))]);
  if (shared.length > 0) throw new UserError(shared.join('\n'));

  // First what is only looked at or asked for, so that a mistake is found before anything is made.
  const account = await logIn(terminal);
  const before = await existing(account, configs);
  assertFree(configs, before);
  const context: Context = { terminal, account, configs, before };
  const { receiver } = configs;
  const name = receiver.name.replace(/-receiver\b/, '');
  const database = await findDatabase(terminal, { name, dryRun });
  if (!database) return printPlan(context);
  await withDatabase(database, receiver.name, async (locked) => {
    terminal.step('ok', 'database', describe(database));
    if (dryRun) await printPlan(context, locked);
  });
  if (dryRun) return;
  const subdomain = before.subdomain ?? (await chooseSubdomain(account, terminal, name));
  const address = `https://${receiver.name}.${subdomain}.workers.dev`;
  const secrets = await askForSecrets(configs, sources, before, terminal, `${address}/webhooks`);
  const undone = undoneIn(configs, before);
  if (undone && !(await terminal.confirm(`deploy ${undone} in ${account.name}, with ${describe(database)}?`))) {
    throw new UserError('nothing was deployed');
  }

  // No lock was held while a person looked for a secret, because Neon ends a session that is idle for so long.
  await withDatabase(database, receiver.name, async (locked) => {
    if (undoneIn(configs, await existing(account, configs)) !== undone) {
      throw new UserError('somebody else has changed the Workers meanwhile: run this again');
    }
    // From here on, every step can be the last: the next run goes on from it.
    writeFiles(terminal, configs, database.region);
    const migrations = await missingMigrations(locked.client);
    if (migrations.length > 0) await migrate(database.url.href);
    terminal.step(migrations.length > 0 ? 'done' : 'ok', 'migrations', migrations.join(', ') || 'all are applied');
    const { isFree } = await ensureQueues(account, configs, terminal);
    await deployAll(context, secrets, database, locked);
    await sendOne(terminal, secrets, address, locked);
    const heardOf = locked.served.length > 0 ? await sourcesHeardOf(locked.client) : [];
    const made = {
      configs,
      sources,
      account: account.id,
      subdomain,
      database: describe(database),
      secrets,
      isFree,
      silent: Object.keys(sources).filter((source) => !heardOf.includes(source)),
      isAlerting: before.workers[configs.consumer.name]?.secrets.includes('ALERT_WEBHOOK_URL') ?? false,
      hasToken: hasToken(configs, before, secrets),
    };
    console.log(summary(made));
  });
}

function hasToken({ ops }: WorkerConfigs, { workers }: Existing, { values }: Secrets): boolean {
  const stored = ops && workers[ops.name]?.secrets;
  return stored?.includes('OPS_TOKEN') === true || values[ops?.name ?? '']?.OPS_TOKEN !== undefined;
}

function undoneIn(configs: WorkerConfigs, state: Existing): string {
  const undone = listed(configs).filter((config) => !isDeployed(config, state));
  return undone.map(({ name }) => name).join(', ');
}

/** For --dry-run. */
async function printPlan({ terminal, configs, before }: Context, locked?: LockedDatabase): Promise<void> {
  const look = (name: string, missing: readonly string[], does: string) => {
    if (missing.length > 0) terminal.step('would', name, `${does} ${missing.join(', ')}`);
    else terminal.step('ok', name, 'all are there');
  };
  const { environment } = configs.receiver;
  const files = filesWithout(environment);
  if (files.length > 0) terminal.step('would', 'files', `add the environment ${environment} to ${files.join(', ')}`);
  if (!locked)
    terminal.step(
      'needs',
      'database',
      'DATABASE_URL, or NEON_API_KEY: without it, migrations and roles are not looked at',
    );
  else {
    look('migrations', await missingMigrations(locked.client), 'apply');
    look('roles', await workersWithoutRole(locked.client), 'create those of');
  }
  look('queues', missingQueues(configs, before), 'create');
  for (const kind of ORDER) {
    const config = configs[kind];
    if (!config) continue;
    const secrets = config.secrets.filter((secret) => !before.workers[config.name]?.secrets.includes(secret));
    if (isDeployed(config, before)) terminal.step('ok', kind, `${config.name} is deployed`);
    else
      terminal.step('would', kind, `deploy ${config.name}${secrets.length > 0 ? `, with ${secrets.join(', ')}` : ''}`);
  }
  terminal.note('nothing was changed');
}

function writeFiles(terminal: Terminal, { receiver, ops }: WorkerConfigs, region: string): void {
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
    const { path } = config;
    const { placement, isOwn } = placementOf(config);
    if (placement?.region === region) terminal.step('ok', 'region', `${region} in ${path}`);
    else if (isOwn) {
      terminal.step(
        'needs',
        'region',
        `${path} places the Worker elsewhere, and the database is in ${region}: change one`,
      );
    } else {
      addPlacement(config, region);
      terminal.step('done', 'region', `${region} in ${path}, beside the database`);
    }
  }
}

/** Consumer, receiver, ops: so what the receiver sends is understood from its first message. */
async function deployAll(
  { terminal, account, configs, before }: Context,
  secrets: Secrets,
  { url }: OwnerDatabase,
  { client, served }: LockedDatabase,
): Promise<void> {
  const release = newRelease();
  const withoutRole = await workersWithoutRole(client);
  const done = new Set(served);
  for (const kind of ORDER) {
    const config = configs[kind];
    if (!config) continue;
    const own = { ...secrets.values[config.name] };
    const hasUrl = before.workers[config.name]?.secrets.includes('DATABASE_URL') && served.includes(kind);
    // A password can't be read again, so a Worker that may not have the right one gets a new one.
    if (!hasUrl || withoutRole.includes(kind)) {
      own.DATABASE_URL = (await createWorkerRoles(url.href, { rotate: [kind] })).urls[kind] ?? '';
    }
    // Secrets that were made up are shown just before they are stored. Earlier, a run that ends before this would have shown
    // secrets that are never used. Later, a run that ends in between would have stored secrets that were never shown.
    for (const secret of terminal.isAsking ? secrets.madeUp : []) {
      if (own[secret]) terminal.note(`made up, and only shown now: ${secret}=${own[secret]}`);
    }
    const outcome = await ensureWorker(account, config, release, before, own);
    if (outcome !== 'ok') await noteOwner(client, url, configs.receiver.name, [...done.add(kind)]);
    const names = Object.keys(own).join(', ');
    if (outcome === 'ok') {
      terminal.step('ok', kind, `${config.name} is deployed (npm run deploy brings a newer version)`);
    } else if (outcome === 'deployed') {
      terminal.step('done', kind, `deployed ${config.name}${names && `, with ${names}`}`);
    } else terminal.step('done', kind, `gave ${config.name} ${names}`);
  }
}

async function sendOne(
  terminal: Terminal,
  { keys }: Secrets,
  receiver: string,
  { client, served }: LockedDatabase,
): Promise<void> {
  // In a copy of another database, the delivery was one of the other's Workers.
  const last = served.length > 0 ? await lastSmoke(client) : undefined;
  if (last) return terminal.step('ok', 'delivery', `one has gone the whole way: ${last}`);
  const handlers = await loadHandlers();
  const result = await smoke({ sources: await loadSources(), handlers, keys, receiver, client });
  if (!result) {
    const text =
      'no secret of a source is known here: set one in the environment, such as GITHUB_WEBHOOK_SECRET, and run this again';
    return terminal.step('needs', 'delivery', text);
  }
  const { source, answeredMs, ignoredMs } = result;
  terminal.step(
    'done',
    'delivery',
    `signed as ${source}: 200 after ${answeredMs} ms, ignored by the consumer ${ignoredMs} ms later`,
  );
}
