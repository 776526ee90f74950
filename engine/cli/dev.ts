import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:net';
import type { Source } from '../src/kit/index.ts';
import { ownDatabase } from './config/dev-vars.ts';
import { WORKERS } from './config/worker-config.ts';
import { migrate } from './database/migrations.ts';
import { readConfiguration, watchConfiguration, writeCopies } from './dev/configuration.ts';
import { createPrinter, openLocalEvents } from './dev/printer.ts';
import { startProxy } from './dev/proxy.ts';
import { watchFiles, watchFolder } from './dev/watch.ts';
import { startWrangler } from './dev/wrangler.ts';
import { AGAIN, loadSamples, loadSources, SAMPLES } from './lib/app.ts';
import { readArguments } from './lib/arguments.ts';
import { freePort, LOOPBACK, listen } from './lib/port.ts';
import { describeProcess, type Lifetime, noteRunning, runningDev, untilStopped } from './lib/processes.ts';
import { UserError } from './lib/user-error.ts';
import { seedTables, startStack } from './local/stack.ts';

/**
 * In production the cron runs every 15 minutes, to let Neon sleep. The local database costs nothing, and a developer
 * doesn't want to wait.
 */
const CRON_EVERY_MS = 60_000;

/** Written by `npm run db:generate`. */
const JOURNAL = 'drizzle/meta/_journal.json';

const USAGE = `npm run dev [-- --fresh] [-- --tunnel] [-- --json]

Runs everything on this machine until Ctrl-C: PostgreSQL, the Neon endpoint, the Workers, and a stand-in for the outside.
PORT sets the port of deliveries and of the console (default: 8787): PORT=8080 npm run dev.
  --fresh     starts over with an empty database
  --tunnel    lets providers reach the receiver, through a Quick Tunnel of Cloudflare. The console then asks for OPS_TOKEN
  --json      prints the Workers' complete log unchanged, and everything else on standard error`;

/** Runs the Workers and everything around them on this machine, until Ctrl-C. */
export default async function main(): Promise<void> {
  const flag = { type: 'boolean', default: false } as const;
  const { values } = readArguments({ usage: USAGE, options: { fresh: flag, json: flag, tunnel: flag } });
  const port = Number(process.env.PORT ?? 8787);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new UserError('PORT takes a number from 1 to 65535');
  assertOnly();
  await assertFree(port);
  await untilStopped((lifetime) => start(port, values, lifetime));
}

async function start(
  port: number,
  { fresh, json, tunnel }: Record<'fresh' | 'json' | 'tunnel', boolean>,
  { ends, stop, isStopping }: Lifetime,
): Promise<void> {
  // With --json, the standard output contains only the Workers' log.
  const say = json ? console.error : console.log;
  const sources = await loadSources();
  const secret = randomBytes(16).toString('hex');
  const configuration = await readConfiguration(sources, say);
  const databaseUrl = ownDatabase(configuration.devVars.DATABASE_URL).href;
  if (isStopping()) return;
  const stack = await startStack({ dataDir: '.data/postgres', databaseUrl, fresh });
  ends.defer(() => stack.stop());
  say(`PostgreSQL   ${stack.postgres.dataDir}, port ${stack.postgres.port}`);
  say(`Neon         ${LOOPBACK}:${stack.neon.port}, HTTP and psql. The DATABASE_URL in .dev.vars owns the tables`);
  say(`the outside  ${stack.outside.url}, in place of every URL in [vars] and of secrets named …_URL`);
  if (isStopping()) return;

  // Wrangler listens on another port, behind proxy.ts.
  const inner = await freePort();
  ends.defer(await startProxy(port, { port: inner, secret }, anotherPort(port)));
  const url = `http://${LOOPBACK}:${inner}`;
  const tick = () => fetch(`${url}/cdn-cgi/local/scheduled`).catch(() => undefined);
  const events = openLocalEvents(stack.databaseUrl);
  ends.defer(() => events.close());
  const printer = createPrinter({ events, json, say });
  const useSamples = async () => {
    try {
      const { answers, seed } = await loadSamples(AGAIN());
      stack.outside.answer = answers;
      await seedTables(stack.databaseUrl, seed);
    } catch (error) {
      say((error as Error).message);
    }
  };
  await useSamples();
  ends.defer(watchFiles([SAMPLES], useSamples));
  stack.outside.onRequest = printer.outside;
  stack.neon.onRefusal = printer.refusal;
  // Wrangler's tunnel leads directly to wrangler's port, where the console requires OPS_TOKEN.
  writeCopies(configuration, stack, tunnel ? undefined : secret);
  ends.defer(watchConfiguration(configuration, say));

  // A reload empties the local queues, so tickets are lost. Make pending events due, so that they get new tickets.
  const tryAgain = async (why: string) => {
    const pending = await events.makePendingDue();
    say(pending > 0 ? `${why}, and pending events and effects are retried now: ${pending}` : why);
    if (pending > 0) await tick();
  };
  const migrated = () => migrate(stack.databaseUrl).then(() => tryAgain('the migrations are applied'));
  ends.defer(watchFiles([JOURNAL], () => void migrated().catch((error) => say(String(error)))));

  const names = new Map(
    WORKERS.flatMap((worker) => {
      const config = configuration.configs[worker];
      return config ? [[worker, config.name] as const] : [];
    }),
  );
  const startWorkers = () =>
    startWrangler({
      port: inner,
      names,
      tunnel,
      onPrinted: printer.worker,
      onReload: () => {
        printer.readBundles();
        return tryAgain('reloaded');
      },
    });
  let wrangler = startWorkers();
  ends.defer(() => wrangler.stop());
  let ready = false;
  // The error names a line of the bundle, which wrangler has deleted. Loading the same files in Node gives the original
  // line.
  const explain = () => {
    const thrown = wrangler.thrown();
    if (thrown === '') return;
    const load = ['--import', './src/consumer.ts', '--eval', 'process.exit()'];
    const { status } = spawnSync(process.execPath, load, { stdio: ['ignore', 'ignore', 'inherit'] });
    if (status === 0) console.error(thrown);
  };
  // A file that throws while it is loaded ends wrangler, which has printed the error. Start it again after the file is
  // saved.
  const startAgain = async () => {
    if (isStopping()) return;
    if (!ready) {
      explain();
      return stop(1);
    }
    // Watch before printing the message, because the reader may save immediately.
    const { promise: saved, resolve } = Promise.withResolvers<void>();
    const stopWatching = watchFolder('src', resolve);
    ends.defer(stopWatching);
    await wrangler.stop();
    explain();
    say('the Workers cannot start: see above. Save a corrected file in src');
    await saved;
    stopWatching();
    if (isStopping()) return;
    wrangler = startWorkers();
    void wrangler.exited.then(startAgain);
    await wrangler.ready(url);
    printer.readBundles();
    await tryAgain('started again');
  };
  void wrangler.exited.then(startAgain);
  void wrangler.ready(url).then(() => {
    ready = true;
    printer.readBundles();
    const timer = setInterval(tick, CRON_EVERY_MS);
    ends.defer(() => clearInterval(timer));
    noteRunning(port);
    const [[name, { tenants }] = ['<source>', {}]] = Object.entries<Partial<Source>>(sources);
    const shown = `http://localhost:${port}`;
    const access = tunnel ? ' (needs OPS_TOKEN)' : '';
    const consoleUrl = names.has('ops') ? `, console ${shown}/ops${access}` : '';
    say(
      `ready        ${shown}/webhooks/<source>${consoleUrl}; in another terminal: npm run send -- ${name}${tenants ? ' --tenant acme' : ''}`,
    );
  });
}

/** Refuses a second run in the same checkout, because both would write the same files. */
function assertOnly(): void {
  const other = runningDev();
  if (!other) return;
  throw new UserError(`it is already running in this checkout, on port ${other.port}: ${describeProcess(other.pid)}`);
}

/** Checks the port before anything is started. */
async function assertFree(port: number): Promise<void> {
  const probe = createServer();
  await listen(probe, port, anotherPort(port));
  await new Promise((resolve) => probe.close(resolve));
}

function anotherPort(port: number): string {
  return `PORT=${port + 1} npm run dev chooses another`;
}
