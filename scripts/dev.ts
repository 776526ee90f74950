import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { databaseUrlOf, ensureDevVars, isLocal } from './local/dev-vars.ts';
import { OFFLINE } from './local/offline.ts';
import { LOOPBACK, listen } from './local/port.ts';
import { type Stack, startStack } from './local/stack.ts';
import { UserError } from './local/user-error.ts';

/** Production ticks every 15 minutes to let Neon sleep. Nobody pays for the local one, and a developer waits for it. */
const CRON_EVERY_MS = 60_000;

export default async function main(): Promise<void> {
  const fresh = process.argv.includes('--fresh');
  const port = Number(process.env.PORT ?? 8787);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new UserError('PORT takes a number from 1 to 65535');
  await assertFree(port);

  const vars = await ensureDevVars();
  const database = databaseUrlOf(vars.DATABASE_URL);
  if (!isLocal(database)) {
    throw new UserError(
      'the DATABASE_URL of .dev.vars is not on 127.0.0.1: dev serves a database of its own, and touches no other',
    );
  }
  const receipts = URL.parse(vars.RECEIPTS_URL ?? '');
  const outsidePort = receipts && isLocal(receipts) ? Number(receipts.port) : 0;
  const stack = await startStack({
    keep: { dataDir: '.data/postgres', databaseUrl: database.href, outsidePort, fresh },
  });
  console.log(`PostgreSQL   ${stack.postgres.dataDir}, port ${stack.postgres.port}`);
  console.log(`Neon         ${LOOPBACK}:${stack.neon.port}, HTTP and psql: the DATABASE_URL of .dev.vars`);
  console.log(`the outside  ${stack.outside.url}, takes receipts and plays GitHub's API`);

  const wrangler = startWrangler(port, vars);
  const stop = stopOnce(wrangler, stack);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void stop(0));
  wrangler.on('exit', (code) => void stop(code ?? 1));

  await answering(`http://${LOOPBACK}:${port}`);
  setInterval(() => void fetch(`http://${LOOPBACK}:${port}/cdn-cgi/local/scheduled`).catch(() => {}), CRON_EVERY_MS);
  console.log(`ready        http://localhost:${port}/webhooks/<source>; in another terminal: npm run send -- stripe`);
}

/** Said before anything is started, rather than by the last part of it. */
async function assertFree(port: number): Promise<void> {
  const probe = createServer();
  await listen(probe, port, `PORT=${port + 1} npm run dev chooses another`);
  await new Promise((resolve) => probe.close(resolve));
}

/** wrangler is started as the program it is: a wrapper such as npx would be stopped alone, and leave it running. */
function startWrangler(port: number, vars: Record<string, string>): ChildProcess {
  const program = [
    'node_modules/wrangler/bin/wrangler.js',
    'dev',
    '-c',
    'wrangler.toml',
    '-c',
    'wrangler.consumer.toml',
  ];
  const options = [
    '--ip',
    LOOPBACK,
    '--port',
    String(port),
    '--inspector-port',
    '0',
    '--show-interactive-dev-session=false',
  ];
  // wrangler hides every key of .dev.vars that secrets.required doesn't name, and these aren't required.
  const previous = Object.entries(vars)
    .filter(([name]) => /_(WEBHOOK_SECRET_PREVIOUS|VERIFY_TOKEN)$/.test(name))
    .flatMap(([name, value]) => ['--var', `${name}:${value}`]);
  return spawn(process.execPath, [...program, ...options, ...previous], {
    stdio: ['ignore', 'inherit', 'inherit'],
    // In a process group of its own: a Ctrl-C in the terminal is for us, and we stop things in their order.
    detached: true,
    env: { ...process.env, ...OFFLINE },
  });
}

function stopOnce(wrangler: ChildProcess, stack: Stack): (code: number) => Promise<void> {
  let stopping = false;
  return async (code) => {
    if (stopping) return;
    stopping = true;
    if (wrangler.exitCode === null && wrangler.kill('SIGINT')) await once(wrangler, 'exit');
    await stack.stop();
    process.exit(code);
  };
}

async function answering(url: string): Promise<void> {
  while (
    !(await fetch(url).then(
      () => true,
      () => false,
    ))
  )
    await new Promise((resolve) => setTimeout(resolve, 50));
}
