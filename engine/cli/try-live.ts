import { randomBytes } from 'node:crypto';
import { ApiError } from './cloudflare/api.ts';
import { assertConfigured } from './config/configuration.ts';
import { madeUpSecrets } from './config/dev-vars.ts';
import { listed, randomSecrets, readConfigs, standInVars, type WorkerConfigs } from './config/worker-config.ts';
import { loadSources, type Sources } from './lib/app.ts';
import { readArguments } from './lib/arguments.ts';
import { UserError } from './lib/user-error.ts';
import { namesIn } from './setup/account.ts';
import { type Made, Terminal } from './setup/terminal.ts';
import { endAtSignals, setUp } from './setup.ts';
import { makeClaimableDatabase, NEON_TERMS } from './try-live/claimable-database.ts';
import { removeTrial } from './try-live/remove.ts';
import { CLOUDFLARE_TERMS, makeTemporaryAccount } from './try-live/temporary-account.ts';
import { ifAlive, readTrial, type Trial, timeOf, writeTrial } from './try-live/trial.ts';

const USAGE = `npm run try-live [-- --yes]
npm run try-live -- --down

Deploys this app without an account of yours: it makes a temporary Cloudflare account (60 minutes) and a temporary Neon database
(72 hours), sends itself signed deliveries, and prints the addresses. Run it again at any time: it goes on where it was, and
deploys what you have changed, and makes again what has expired.
  --yes    asks nothing, and accepts the terms of both services
  --down   removes what it has made`;

/** Where a trial's effects would find what only you have the address of. */
const NOWHERE = 'https://not-set.invalid/';

const ADVICE = 'Run this again, in some minutes if it was a limit, or use accounts of your own: npm run setup';

export default async function main(): Promise<void> {
  const flag = { type: 'boolean', default: false } as const;
  const { values } = readArguments({ usage: USAGE, options: { yes: flag, down: flag } });
  endAtSignals();
  const terminal = new Terminal({ asks: !values.yes, timed: true });
  await (values.down ? removeTrial(terminal) : tryLive(terminal)).finally(() => terminal.close());
}

async function tryLive(terminal: Terminal): Promise<void> {
  const configs = readConfigs();
  const sources = await loadSources();
  assertConfigured({ sources, ...configs });
  assertFits(configs);
  let trial = readTrial();
  await assertNotClaimed(trial);
  const oldAccount = ifAlive(trial.account);
  const oldDatabase = ifAlive(trial.database);
  const names = namesIn(configs);
  const [before] = trial.names?.workers ?? [];
  if ((oldAccount || oldDatabase) && before && before !== names.workers[0]) {
    throw new UserError(
      `what is live is called ${before}: npm run try-live -- --down removes it, and then run this again`,
    );
  }
  if (!oldAccount || !oldDatabase) await assertAccepted(terminal);
  // What it has stays as it is: the Workers that are deployed have it too.
  trial = writeTrial({ ...trial, names, secrets: { ...secretsFor(configs, sources), ...trial.secrets } });
  const account = oldAccount ?? (await advised(makeTemporaryAccount()));
  trial = writeTrial({ ...trial, account });
  terminal.step(
    oldAccount ? 'ok' : 'done',
    'Cloudflare',
    `temporary account ${account.name}, until ${timeOf(account)}`,
  );
  const database = oldDatabase ?? (await advised(makeClaimableDatabase()));
  trial = writeTrial({ ...trial, database });
  terminal.step(oldDatabase ? 'ok' : 'done', 'Neon', `temporary database, until ${timeOf(database)}`);

  // From here on, it is a setup that has an account, a database and secrets in its environment. Wrangler prefers a global key.
  for (const name of ['CLOUDFLARE_API_KEY', 'CF_API_KEY']) delete process.env[name];
  Object.assign(process.env, trial.secrets, {
    CLOUDFLARE_API_TOKEN: account.apiToken,
    CLOUDFLARE_ACCOUNT_ID: account.id,
    DATABASE_URL: database.url,
  });
  const made = await advised(setUp(new Terminal({ asks: false, timed: true }), '', true), oldAccount !== undefined);
  trial = writeTrial({ ...trial, receiver: made.address });
  console.log(report(made, trial));
}

/** A temporary account has workers.dev and no domain, and wrangler would deploy to the account that a file names. */
function assertFits(configs: WorkerConfigs): void {
  for (const { path, raw } of listed(configs)) {
    const key = (['account_id', 'route', 'routes'] as const).find((one) => raw[one] !== undefined);
    if (key) throw new UserError(`${path} has ${key}, which fits no temporary account: npm run setup deploys to yours`);
  }
}

/** Another account would get the database from Workers that are somebody's by now. */
async function assertNotClaimed({ account, receiver }: Trial): Promise<void> {
  if (!account || ifAlive(account) || !receiver) return;
  const response = await fetch(`${receiver}/webhooks`, { signal: AbortSignal.timeout(20_000) }).catch(() => undefined);
  if (!response?.headers.get('content-type')?.startsWith('application/problem+json')) return;
  throw new UserError(
    `${receiver} answers although its hour is over. If you have claimed it, npm run setup goes on from there; if not, npm run try-live -- --down forgets it`,
  );
}

async function assertAccepted(terminal: Terminal): Promise<void> {
  console.log(`This makes, without an account of yours:
  at Cloudflare   an account for 60 minutes, with the Workers and queues of your wrangler files
  at Neon         a Postgres database for 72 hours, in the USA
Both are deleted at the end of their time, unless you claim them. Whoever goes on accepts the terms of
  Cloudflare      ${Object.values(CLOUDFLARE_TERMS).join(' and ')}
  Neon            ${Object.values(NEON_TERMS).join(' and ')}`);
  if (!terminal.isAsking) return;
  const answer = await terminal.ask('type yes to go on');
  if (!/^y(es)?$/i.test(answer)) throw new UserError('nothing was made, because the terms were not accepted');
}

/** Random values for all that the Workers need, and for what samples are signed with. */
function secretsFor(configs: WorkerConfigs, sources: Sources): Record<string, string> {
  const workers = listed(configs).map(({ secrets }) => ({ vars: {}, secrets }));
  return Object.assign(
    { OPS_TOKEN: randomBytes(32).toString('hex') },
    ...workers.map((worker) => standInVars(worker, NOWHERE)),
    ...workers.map(randomSecrets),
    madeUpSecrets(sources),
  );
}

/** Says what to do for somebody without an account. */
async function advised<Result>(work: Promise<Result>, hadAccount = false): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    if (!(error instanceof ApiError)) throw new UserError(`${error.message}. ${ADVICE}`);
    const isRefused = error.status === 401 || error.status === 403;
    if (!hadAccount || !isRefused) throw new UserError(`${error.reason}. ${ADVICE}`);
    throw new UserError(
      `the temporary account refuses its token. If you have claimed it, npm run setup goes on from there; if not, npm run try-live -- --down forgets it`,
    );
  }
}

function report({ address, sources, console, configs, stored }: Made, { account, database, secrets }: Trial): string {
  const [first = '<source>'] = Object.keys(sources);
  const hasToken = configs.ops && stored[configs.ops.name]?.includes('OPS_TOKEN');
  const password = hasToken ? ` with any name and the password ${secrets.OPS_TOKEN}` : '';
  return `
sources     ${Object.keys(sources)
    .map((name) => `${address}/webhooks/${name}`)
    .join('\n            ')}
${console ? `console     ${console}/ops${password}\n` : ''}try it      npm run send -- ${first} --live --times 5
keep it     ${account?.claimUrl}  until ${account && timeOf(account)}
            ${database?.claimUrl}  until ${database && timeOf(database)}
            then npx wrangler login, and npm run setup goes on from here
remove it   npm run try-live -- --down

Whoever opens an address below "keep it" owns what is there: show them to nobody. Temporary accounts are said to run no cron: sweep,
prune and alerts wait for an account of yours. docs/try-live.md says more.`;
}
