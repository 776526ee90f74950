import { randomBytes } from 'node:crypto';
import { experimental_readRawConfig as readRawConfig } from 'wrangler';

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
}

export const RECEIVER_CONFIG = 'wrangler.toml';
export const CONSUMER_CONFIG = 'wrangler.consumer.toml';

export function readConfig(path: string): WorkerConfig {
  const { rawConfig } = readRawConfig({ config: path });
  const { name = '', main = '', vars = {}, secrets, queues } = rawConfig;
  return {
    path,
    name,
    main,
    vars,
    secrets: secrets?.required ?? [],
    consumes: (queues?.consumers ?? []).map(({ queue }: { queue: string }) => queue),
  };
}

/** Every http(s) URL among a Worker's variables, replaced by the stand-in for the outside. */
export function standInVars({ vars }: WorkerConfig, outsideUrl: string): Record<string, string> {
  const urls = Object.entries(vars).filter(([, value]) => typeof value === 'string' && /^https?:/i.test(value));
  return Object.fromEntries(urls.map(([name]) => [name, outsideUrl]));
}

/** Random values for the secrets that a Worker requires, except DATABASE_URL. */
export function randomSecrets({ secrets }: WorkerConfig): Record<string, string> {
  const names = secrets.filter((name) => name !== 'DATABASE_URL');
  return Object.fromEntries(names.map((name) => [name, randomBytes(32).toString('hex')]));
}
