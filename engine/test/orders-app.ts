// An app for checkouts of their own: one source, and one handler that asks for one effect.
import { readFileSync } from 'node:fs';

export const SOURCES = `
import { defineSources } from 'claimcheck';
import { gethook } from 'claimcheck/providers/gethook';
export const sources = defineSources({ orders: { provider: gethook, types: ['order.paid'] } });
`;

export const RECEIVER = `
name = "checkout-receiver"
main = "src/receiver.ts"
compatibility_date = "2026-09-18"
secrets = { required = ["DATABASE_URL", "ORDERS_WEBHOOK_SECRET"] }
queues = { producers = [{ binding = "EVENTS", queue = "one" }] }
`;

const OPS = `
name = "checkout-ops"
main = "src/ops.ts"
compatibility_date = "2026-09-18"
secrets = { required = ["DATABASE_URL"] }
queues = { producers = [{ binding = "EVENTS", queue = "one" }, { binding = "EFFECTS", queue = "two" }] }
[access.dev]
aud = "local"
identity = { email = "you@localhost" }
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
main = "src/consumer.ts"
compatibility_date = "2026-09-18"
secrets = { required = ${JSON.stringify(['DATABASE_URL', ...secrets])} }
triggers = { crons = ["*/15 * * * *"] }
[vars]
DEDUPE_DAYS = 30
BODY_DAYS = 7
EVENTS_QUEUE = "one"
EVENTS_DEAD_QUEUE = "one-dead"
EFFECTS_QUEUE = "two"
EFFECTS_DEAD_QUEUE = "two-dead"
${Object.entries(vars)
  .map(([name, value]) => `${name} = "${value}"`)
  .join('\n')}
[[queues.producers]]
binding = "EVENTS"
queue = "one"
[[queues.producers]]
binding = "EFFECTS"
queue = "two"
${consumer('one', 'one-dead')}${consumer('two', 'two-dead')}${consumer('one-dead')}${consumer('two-dead')}`;
}

export const HANDLER = `
import * as v from 'valibot';
import { defineHandler, defineHandlers } from 'claimcheck';
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
import { defineEffect, defineEffects } from 'claimcheck';
export const { effects, effect } = defineEffects({
  thanks: defineEffect({
    send: (payload, { key, env, fetch, signal }) =>
      fetch(${url}, { method: 'POST', headers: { 'idempotency-key': key }, body: JSON.stringify(payload), signal }),
  }),
});
`;
}

/** The entries of the three Workers, which are every app's. */
const ENTRIES = Object.fromEntries(
  ['src/receiver.ts', 'src/consumer.ts', 'src/ops.ts'].map((path) => [path, readFileSync(path, 'utf8')]),
);

export const APP: Readonly<Record<string, string>> = {
  'src/sources.ts': SOURCES,
  'src/tables.ts': '',
  'src/handlers/index.ts': HANDLER,
  'src/effects/index.ts': effectsCalling(`\`\${env.THANKS_URL}/thanks\``),
  'src/samples.ts': 'export const samples = {}; export const answers = () => undefined;',
  ...ENTRIES,
  'wrangler.toml': RECEIVER,
  'wrangler.consumer.toml': consumerConfig({ THANKS_URL: 'https://thanks.example.com' }),
  'wrangler.ops.toml': OPS,
};

const EMPTY_APP = {
  'sources.ts': 'export const sources = {};',
  'tables.ts': '',
  'handlers/index.ts': 'export const handlers = {};',
  'effects/index.ts': 'export const effects = {};',
  'samples.ts': 'export const samples = {}; export const answers = () => undefined;',
};

/** Another app, in the same wrangler files. Files are named from src. */
export function appOf(files: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  const own = Object.entries({ ...EMPTY_APP, ...files }).map(([file, text]) => [`src/${file}`, text]);
  return { ...APP, ...Object.fromEntries(own) };
}
