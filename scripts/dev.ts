import { createServer } from 'node:net';
import { sources } from '../src/app/sources.ts';
import { answerAsApp } from './local/app.ts';
import { readArguments } from './local/arguments.ts';
import { createConfigurator } from './local/configurator.ts';
import { createPrinter } from './local/dev-printer.ts';
import { databaseUrlOf, isLocal } from './local/dev-vars.ts';
import { openLedger } from './local/ledger.ts';
import { migrate } from './local/migrations.ts';
import { rememberCheckout, removeOrphanedData } from './local/orphans.ts';
import { LOOPBACK, listen } from './local/port.ts';
import { commandOf } from './local/processes.ts';
import { isRoot } from './local/programs.ts';
import { noteRunning, runningDev } from './local/running.ts';
import { startStack } from './local/stack.ts';
import { UserError } from './local/user-error.ts';
import { watchFiles, watchFolder } from './local/watch.ts';
import { startWrangler } from './local/wrangler.ts';

/** Production ticks every 15 minutes to let Neon sleep. The local database costs nothing, and a developer waits for it. */
const CRON_EVERY_MS = 60_000;

/** Both Workers with everything around them on this machine, until Ctrl-C. */
export default async function main(): Promise<void> {
  const { values } = readArguments({
    options: { fresh: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
  });
  const port = Number(process.env.PORT ?? 8787);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new UserError('PORT takes a number from 1 to 65535');
  assertOnly();
  await assertFree(port);

  const ends = new AsyncDisposableStack();
  let stopping = false;
  const stop = async (code: number) => {
    if (stopping) return;
    stopping = true;
    // A server that is still starting can be stopped only when it has started.
    await starting.catch(() => {});
    await ends.disposeAsync();
    process.exit(code);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0));
  const starting = start(port, values, { ends, stop, isStopping: () => stopping });
  try {
    await starting;
  } catch (error) {
    // A Ctrl-C in a terminal also ends initdb, and its failure is then expected.
    if (stopping) return;
    await ends.disposeAsync();
    throw error;
  }
}

interface Lifetime {
  /** How to end what has been started, in the reverse order. */
  readonly ends: AsyncDisposableStack;
  readonly stop: (code: number) => Promise<void>;
  readonly isStopping: () => boolean;
}

async function start(
  port: number,
  { fresh, json }: { fresh: boolean; json: boolean },
  { ends, stop, isStopping }: Lifetime,
): Promise<void> {
  // With --json the standard output holds nothing but the log of the Workers.
  const say = json ? console.error : console.log;
  const configurator = await createConfigurator(sources, say);
  const database = databaseUrlOf(configurator.databaseUrl);
  if (!isLocal(database)) {
    throw new UserError(
      'the DATABASE_URL in .dev.vars is not on 127.0.0.1: dev has a database of its own, and never uses another',
    );
  }
  if (isRoot) removeOrphanedData();
  if (isStopping()) return;
  const keep = { dataDir: '.data/postgres', databaseUrl: database.href, outsidePort: 0, fresh };
  const stack = await startStack({ keep });
  ends.defer(() => stack.stop());
  rememberCheckout(stack.postgres.dataDir);
  say(`PostgreSQL   ${stack.postgres.dataDir}, port ${stack.postgres.port}`);
  say(`Neon         ${LOOPBACK}:${stack.neon.port}, HTTP and psql. The DATABASE_URL in .dev.vars owns the tables`);
  say(`the outside  ${stack.outside.url}, in place of every URL in [vars]`);
  if (isStopping()) return;

  const receiver = `http://${LOOPBACK}:${port}`;
  const tick = () => fetch(`${receiver}/cdn-cgi/local/scheduled`).catch(() => undefined);
  const ledger = openLedger(stack.databaseUrl);
  ends.defer(() => ledger.close());
  const printer = createPrinter({ ledger, json, say });
  answerAsApp(stack.outside);
  stack.outside.onRequest = printer.outside;
  const servers = { outsideUrl: stack.outside.url, workerUrls: stack.workerUrls };
  configurator.write(servers);
  ends.defer(configurator.watch(servers));

  // A reload empties the local queues. The tickets of events that wait for their next attempt are lost with them.
  const tryAgain = async (why: string) => {
    const pending = await ledger.makePendingDue();
    say(pending > 0 ? `${why}, and pending events and effects are tried again now: ${pending}` : why);
    if (pending > 0) await tick();
  };
  const migrated = () => migrate(stack.databaseUrl).then(() => tryAgain('the migrations are applied'));
  ends.defer(watchFiles(['drizzle/meta/_journal.json'], () => void migrated().catch((error) => say(String(error)))));

  const startWorkers = () =>
    startWrangler(port, configurator.names(), {
      onPrinted: printer.worker,
      onReload: () => {
        printer.readBundles();
        return tryAgain('reloaded');
      },
    });
  let wrangler = startWorkers();
  ends.defer(() => wrangler.stop());
  let ready = false;
  // A file that throws while it is loaded ends wrangler. It has printed the error, and a developer will save a correction.
  const startAgain = async (code: number | null) => {
    if (isStopping()) return;
    if (!ready) return stop(code ?? 1);
    await wrangler.stop();
    say('the Workers can not start: see above (npm run position translates index.js:…). Save a correction in src');
    const { promise: saved, resolve } = Promise.withResolvers<void>();
    const stopWatching = watchFolder('src', resolve);
    ends.defer(stopWatching);
    await saved;
    stopWatching();
    if (isStopping()) return;
    wrangler = startWorkers();
    void wrangler.exited.then(startAgain);
    await wrangler.ready(receiver);
    printer.readBundles();
    await tryAgain('started again');
  };
  void wrangler.exited.then(startAgain);
  void wrangler.ready(receiver).then(() => {
    ready = true;
    printer.readBundles();
    const timer = setInterval(tick, CRON_EVERY_MS);
    ends.defer(() => clearInterval(timer));
    noteRunning(port);
    const [name = '<source>'] = Object.keys(sources);
    const url = `http://localhost:${port}`;
    say(`ready        ${url}/webhooks/<source>, console ${url}/ops; in another terminal: npm run send -- ${name}`);
  });
}

/** Two runs in one checkout would write the same files. */
function assertOnly(): void {
  const other = runningDev();
  if (!other) return;
  const command = commandOf(other.pid);
  throw new UserError(
    `it runs in this checkout already, on port ${other.port}: process ${other.pid}${command ? ` (${command})` : ''}`,
  );
}

/** Checked first, so that nothing has been started when the port is refused. */
async function assertFree(port: number): Promise<void> {
  const probe = createServer();
  await listen(probe, port, `PORT=${port + 1} npm run dev chooses another`);
  await new Promise((resolve) => probe.close(resolve));
}
