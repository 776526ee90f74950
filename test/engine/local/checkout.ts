import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { searchCommand } from '../canaries/commands.ts';

/** A checkout of its own with an app of its own: what these commands do must not depend on what is in src/app. */
export interface Checkout {
  readonly path: string;
  write(file: string, text: string): Promise<void>;
  /** Runs a command as `npm run` does. */
  run(args: readonly string[], env?: Record<string, string>): Running;
  remove(): Promise<void>;
}

export interface Running {
  readonly child: ChildProcess;
  readonly output: () => string;
  /** Resolves at the end to the exit code and all that was printed. */
  readonly result: Promise<{ code: number | null; text: string }>;
}

export async function makeCheckout(files: Readonly<Record<string, string>> = APP): Promise<Checkout> {
  const path = await mkdtemp(join(tmpdir(), 'claimcheck-checkout-'));
  for (const name of ['src', 'scripts', 'drizzle', 'package.json', 'drizzle.config.ts']) {
    await cp(name, join(path, name), { recursive: true });
  }
  await rm(join(path, 'src/app'), { recursive: true });
  await symlink(resolve('node_modules'), join(path, 'node_modules'));
  const write = async (file: string, text: string) => {
    await mkdir(dirname(join(path, file)), { recursive: true });
    await writeFile(join(path, file), text);
  };
  for (const [file, text] of Object.entries(files)) await write(file, text);
  return {
    path,
    write,
    run: (args, env) => runIn(path, args, env),
    remove: () => rm(path, { recursive: true, force: true }),
  };
}

export function runIn(cwd: string, args: readonly string[], env: Record<string, string> = {}): Running {
  // A DATABASE_URL or PORT in the shell that runs the tests would change what the commands do.
  const variables: Record<string, string | undefined> = { ...process.env, DATABASE_URL: undefined, PORT: undefined };
  const child = spawn(process.execPath, ['scripts/run.mjs', ...args], {
    cwd,
    env: { ...variables, ...env } as NodeJS.ProcessEnv,
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
  const result = once(child, 'exit').then(([code]) => {
    searchCommand(cwd, env, args, text);
    return { code: code as number | null, text: text.trim() };
  });
  return { child, output: () => text, result };
}

/** Command lines of the processes that a checkout has left behind. Empty on a system without /proc. */
export function processesOf(...folders: string[]): string[] {
  return readdirIfThere('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .flatMap((pid) => {
      try {
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
        const known = `${readlinkSync(`/proc/${pid}/cwd`)} ${command}`;
        return folders.some((folder) => known.includes(folder)) ? [command] : [];
      } catch {
        // It has ended meanwhile, or is another user's.
        return [];
      }
    });
}

function readdirIfThere(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

export const SOURCES = `
import { defineSources } from '#kit';
import { gethook } from '#providers/gethook';
export const sources = defineSources({ orders: { provider: gethook, types: ['order.paid'] } });
`;

export const RECEIVER = `
name = "checkout-receiver"
main = "src/receiver/index.ts"
compatibility_date = "2026-09-18"
vars = { DEDUPE_DAYS = 30, BODY_DAYS = 7 }
secrets = { required = ["DATABASE_URL", "ORDERS_WEBHOOK_SECRET"] }
triggers = { crons = ["*/15 * * * *"] }
queues = { producers = [{ binding = "EVENTS", queue = "one" }, { binding = "EFFECTS", queue = "two" }] }
`;

export function consumerConfig(vars: Readonly<Record<string, string>>, secrets: readonly string[] = []): string {
  const consumer = (queue: string, dead?: string) => `
[[queues.consumers]]
queue = "${queue}"
max_batch_size = 10
max_batch_timeout = 0
max_retries = 100
retry_delay = 5
${dead ? `dead_letter_queue = "${dead}"` : ''}`;
  return `
name = "checkout-consumer"
main = "src/consumer/index.ts"
compatibility_date = "2026-09-18"
secrets = { required = ${JSON.stringify(['DATABASE_URL', ...secrets])} }
[vars]
EVENTS_QUEUE = "one"
EVENTS_DEAD_QUEUE = "one-dead"
EFFECTS_QUEUE = "two"
EFFECTS_DEAD_QUEUE = "two-dead"
${Object.entries(vars)
  .map(([name, value]) => `${name} = "${value}"`)
  .join('\n')}
[[queues.producers]]
binding = "EFFECTS"
queue = "two"
${consumer('one', 'one-dead')}${consumer('two', 'two-dead')}${consumer('one-dead')}${consumer('two-dead')}`;
}

/** One handler that asks for one effect. */
export const HANDLER = `
import * as v from 'valibot';
import { defineHandler, defineHandlers } from '#kit';
import { effect } from '../effects/index.ts';
import { sources } from '../sources.ts';
const paid = defineHandler({
  schema: v.object({ record: v.string() }),
  handle: ({ data }) => [effect('thanks', { record: data.record })],
});
export const handlers = defineHandlers(sources, { orders: { 'order.paid': paid } });
`;

/** \`url\` is an expression over \`env\`. */
export function effectsCalling(url: string): string {
  return `
import { defineEffect, defineEffects } from '#kit';
export const { effects, effect } = defineEffects({
  thanks: defineEffect({
    send: (payload, { key, env, fetch, signal }) =>
      fetch(${url}, { method: 'POST', headers: { 'idempotency-key': key }, body: JSON.stringify(payload), signal }),
  }),
});
`;
}

export const APP: Readonly<Record<string, string>> = {
  'src/app/sources.ts': SOURCES,
  'src/app/tables.ts': '',
  'src/app/handlers/index.ts': HANDLER,
  'src/app/effects/index.ts': effectsCalling(`\`\${env.THANKS_URL}/thanks\``),
  'src/app/samples.ts': 'export const samples = {}; export const answers = () => undefined;',
  'wrangler.toml': RECEIVER,
  'wrangler.consumer.toml': consumerConfig({ THANKS_URL: 'https://thanks.example.com' }),
};
