import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { UserError } from '../lib/user-error.ts';

type Wrangler = typeof import('wrangler');
export type RawConfig = ReturnType<Wrangler['experimental_readRawConfig']>['rawConfig'];

export const WORKERS = ['receiver', 'consumer', 'ops'] as const;
export type WorkerKind = (typeof WORKERS)[number];

/** The wrangler file of each Worker. */
export const CONFIGS: Readonly<Record<WorkerKind, string>> = {
  receiver: 'wrangler.toml',
  consumer: 'wrangler.consumer.toml',
  ops: 'wrangler.ops.toml',
};

/** What our scripts need to know of a wrangler file. */
export interface WorkerConfig {
  readonly path: string;
  readonly name: string;
  readonly main: string;
  readonly vars: Readonly<Record<string, unknown>>;
  /** The names in `secrets.required`. */
  readonly secrets: readonly string[];
  /** Names of the queues that it consumes. */
  readonly consumes: readonly string[];
  /** The dead letter queue of each queue that it consumes. */
  readonly deadLetterQueues: Readonly<Record<string, string | undefined>>;
  /** By binding: the queue that it sends to. */
  readonly produces: Readonly<Record<string, string | undefined>>;
  /** The file as wrangler reads it. */
  readonly raw: RawConfig;
}

export interface WorkerConfigs {
  readonly receiver: WorkerConfig;
  readonly consumer: WorkerConfig;
  /** The ops Worker is optional: without its file there is no console. */
  readonly ops: WorkerConfig | undefined;
}

export function readConfigs(): WorkerConfigs {
  const { receiver, consumer, ops } = CONFIGS;
  return {
    receiver: readConfig(receiver),
    consumer: readConfig(consumer),
    ops: existsSync(ops) ? readConfig(ops) : undefined,
  };
}

/** Those that there are. */
export function listed({ receiver, consumer, ops }: WorkerConfigs): readonly WorkerConfig[] {
  return [receiver, consumer, ...(ops ? [ops] : [])];
}

export function readConfig(path: string): WorkerConfig {
  const raw = readRaw(path);
  const { name = '', main = '', vars = {}, secrets, queues } = raw;
  const consumers: { queue: string; dead_letter_queue?: string }[] = queues?.consumers ?? [];
  const producers: { binding: string; queue?: string }[] = queues?.producers ?? [];
  return {
    path,
    name,
    main,
    vars,
    secrets: secrets?.required ?? [],
    consumes: consumers.map(({ queue }) => queue),
    deadLetterQueues: Object.fromEntries(consumers.map((consumer) => [consumer.queue, consumer.dead_letter_queue])),
    produces: Object.fromEntries(producers.map(({ binding, queue }) => [binding, queue])),
    raw,
  };
}

/** With these variables wrangler sends no request for the machine's location, for updates or for statistics. */
export const OFFLINE = {
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_SEND_METRICS: 'false',
  // Otherwise it asks the npm registry for a newer version, to name it in its banner.
  WRANGLER_HIDE_BANNER: 'true',
};

/**
 * Wrangler is loaded only when it is needed, because that takes more than a second. An `import` would take longer still:
 * Node would search its 14 MB of source for the names of its exports.
 */
export function loadWrangler(): Wrangler {
  return createRequire(import.meta.url)('wrangler');
}

function readRaw(path: string): RawConfig {
  const wrangler = loadWrangler();
  try {
    return wrangler.experimental_readRawConfig({ config: path }).rawConfig;
  } catch (error) {
    const { message, location } = error as Error & { location?: { line?: number } };
    throw new UserError(`${path}${location?.line ? `:${location.line}` : ''} can't be read: ${message}`);
  }
}

/** All secrets but the database's URL, which each Worker gets from elsewhere. */
const otherSecrets = ({ secrets }: Pick<WorkerConfig, 'secrets'>) => secrets.filter((name) => name !== 'DATABASE_URL');

/** Some secrets are URLs, like that of a Slack webhook. Only their names can tell. */
const isUrlByName = (name: string) => name.endsWith('_URL');

/** The stand-in for the outside in place of every URL: http(s) among a Worker's variables, and secrets by their names. */
export function standInVars(
  config: Pick<WorkerConfig, 'vars' | 'secrets'>,
  outsideUrl: string,
): Record<string, string> {
  const isUrl = ([, value]: [string, unknown]) => typeof value === 'string' && /^https?:/i.test(value);
  const variables = Object.entries(config.vars)
    .filter(isUrl)
    .map(([name]) => name);
  const names = [...variables, ...otherSecrets(config).filter(isUrlByName)];
  return Object.fromEntries(names.map((name) => [name, outsideUrl]));
}

/** Random values for the secrets that a Worker requires, except URLs. */
export function randomSecrets(config: Pick<WorkerConfig, 'secrets'>): Record<string, string> {
  const names = otherSecrets(config).filter((name) => !isUrlByName(name));
  return Object.fromEntries(names.map((name) => [name, randomBytes(32).toString('hex')]));
}
