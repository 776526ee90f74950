import { readFileSync } from 'node:fs';
import { CONFIGS, readConfig } from '../cli/config/worker-config.ts';
import { table, WORKSHOP, writeSections } from './generated.ts';

const SECTION = { page: 'docs/configuration.md', command: WORKSHOP };

/** Writes the queues' settings and the limits in docs/configuration.md, from the wrangler file and from the constants. */
export default function main(): void {
  writeSections(
    [
      { ...SECTION, name: 'queues', lines: queues() },
      { ...SECTION, name: 'limits', lines: limits() },
    ],
    'docs:configuration',
  );
}

const SETTINGS = ['max_batch_size', 'max_batch_timeout', 'max_retries', 'retry_delay', 'max_concurrency'] as const;

function queues(): string[] {
  const { raw } = readConfig(CONFIGS.consumer);
  const consumers: readonly { readonly queue: string }[] = raw.queues?.consumers ?? [];
  const rows = consumers.map((one) => [
    `\`${one.queue.replace('claimcheck', '…')}\``,
    ...SETTINGS.map((name) => String(Reflect.get(one, name))),
  ]);
  return table(['queue', ...SETTINGS.map((name) => `\`${name}\``)], rows);
}

type Unit = 'ms' | 's' | 'bytes' | '';

/** What is limited, the constant that limits it, its unit, and what happens beyond it. */
const LIMITS: readonly (readonly [what: string, file: string, constant: string, unit: Unit, beyond: string])[] = [
  [
    'body of a delivery, unless its source or provider says otherwise',
    'receiver/receive.ts',
    'MAX_BYTES',
    'bytes',
    '413',
  ],
  ['time until a body is complete', 'receiver/body.ts', 'BODY_DEADLINE_MS', 'ms', '503'],
  ['all bodies in an isolate', 'receiver/body.ts', 'MAX_BUFFERED_BYTES', 'bytes', '503'],
  ['events in a batch', 'receiver/identify.ts', 'MAX_EVENTS', '', '400'],
  ['bytes of a batch, as the claim sends them', 'receiver/identify.ts', 'MAX_BATCH_BYTES', 'bytes', '400'],
  ['characters of an event id', 'receiver/identify.ts', 'MAX_ID_LENGTH', '', 'the SHA-256 of the content is the id'],
  ['time for a claim', 'receiver/claim-or-forward.ts', 'CLAIM_TIMEOUT_MS', 'ms', 'the delivery goes on the queue'],
  ['compressed delivery on the queue', 'queue/forwarded.ts', 'MAX_MESSAGE_BYTES', 'bytes', '503'],
  ['suspected replays of one replay key', 'db/claim.ts', 'MAX_REPLAYS', '', '503'],
  ['signatures that are tried for one delivery', 'verify/index.ts', 'MAX_CANDIDATES', '', '401'],
  ['changes of one event', 'consumer/ask-handler.ts', 'MAX_CHANGES', '', 'parked'],
  ['time for a query or a commit', 'db/client.ts', 'QUERY_TIMEOUT_MS', 'ms', 'tried again alone'],
  ['attempts of a handler or an effect', 'consumer/judge.ts', 'ATTEMPTS', '', 'parked'],
  ['wait before the second attempt, at most', 'consumer/judge.ts', 'FIRST_SECONDS', 's', 'doubles with each attempt'],
  ['wait between two attempts, at most', 'consumer/judge.ts', 'LAST_SECONDS', 's', ''],
  ['how late an effect can be asked for', 'consumer/effect-options.ts', 'MAX_LATER_SECONDS', 's', 'parked'],
  ['events that run again at a time', 'db/actions.ts', 'MAX_RERUN', '', '409'],
  ['characters of `OPS_TOKEN`, at least', 'ops/access.ts', 'MIN_TOKEN_LENGTH', '', 'nobody gets in'],
];

function limits(): string[] {
  const rows = LIMITS.map(([what, file, constant, unit, beyond]) => [
    what,
    written(numberIn(file, constant), unit),
    beyond,
    `\`${constant}\` in \`engine/src/${file}\``,
  ]);
  return table(['limit', 'value', 'beyond it', 'where it is set'], rows);
}

/** Only numbers and products of numbers are written as constants. */
function numberIn(file: string, constant: string): number {
  const text = readFileSync(`engine/src/${file}`, 'utf8');
  const [, product = ''] = new RegExp(`^(?:export )?const ${constant} = ([\\d_* ]+);$`, 'm').exec(text) ?? [];
  if (product === '') throw new Error(`engine/src/${file} has no number ${constant}`);
  return product.split('*').reduce((value, factor) => value * Number(factor.replaceAll('_', '')), 1);
}

function written(value: number, unit: Unit): string {
  if (unit === 'bytes' && value % 1024 === 0) return `${value / 1024 ** 2} MiB`;
  if (unit === 'ms') return `${value / 1000} s`;
  if (unit === 's' && value >= 3600) return value >= 86_400 ? `${value / 86_400} days` : `${value / 3600} h`;
  return `${value.toLocaleString('en')}${unit && ` ${unit}`}`;
}
