import { randomBytes } from 'node:crypto';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
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

/** The settings that our commands read from a wrangler file, or from one environment in it. */
export interface WorkerConfig {
  readonly path: string;
  /** The name in `[env.<name>]`. Empty for the top level of the file. */
  readonly environment: string;
  readonly name: string;
  readonly main: string;
  readonly vars: Readonly<Record<string, unknown>>;
  /** The names in `secrets.required`. */
  readonly secrets: readonly string[];
  /** The names of the queues that the Worker consumes. */
  readonly consumes: readonly string[];
  /** The dead letter queue of each consumed queue. */
  readonly deadLetterQueues: Readonly<Record<string, string | undefined>>;
  /** The queue that each binding sends to. */
  readonly produces: Readonly<Record<string, string | undefined>>;
  /** The configuration as wrangler reads it. */
  readonly raw: RawConfig;
}

export interface WorkerConfigs {
  readonly receiver: WorkerConfig;
  readonly consumer: WorkerConfig;
  /** The ops Worker is optional. Without its file there is no console. */
  readonly ops: WorkerConfig | undefined;
}

/** If `planned` and a file lacks the environment, reads it as setup would add it. */
export function readConfigs(environment = '', { planned } = { planned: false }): WorkerConfigs {
  const { receiver, consumer, ops } = CONFIGS;
  const read = (path: string) => readConfig(path, environment, { planned });
  return { receiver: read(receiver), consumer: read(consumer), ops: existsSync(ops) ? read(ops) : undefined };
}

/** The Workers whose files exist. */
export function listed({ receiver, consumer, ops }: WorkerConfigs): readonly WorkerConfig[] {
  return [receiver, consumer, ...(ops ? [ops] : [])];
}

/** Wrangler's arguments for a file and an environment. An empty `--env` overrides CLOUDFLARE_ENV. */
export function wranglerArguments({ path, environment }: Pick<WorkerConfig, 'path' | 'environment'>): string[] {
  return ['-c', path, `--env=${environment}`];
}

/** The same arguments, in a command for a person. */
export function wranglerFlags({ path, environment }: Pick<WorkerConfig, 'path' | 'environment'>): string {
  return `-c ${path}${environment && ` --env ${environment}`}`;
}

export function readConfig(path: string, environment = '', { planned } = { planned: false }): WorkerConfig {
  const file = readRaw(path);
  const own = file.env?.[environment] ?? (planned ? ownOf(file, environment) : undefined);
  const raw = inEnvironment(path, file, environment, own);
  const { name = '', main = '', vars = {}, secrets, queues } = raw;
  const consumers: { queue: string; dead_letter_queue?: string }[] = queues?.consumers ?? [];
  const producers: { binding: string; queue?: string }[] = queues?.producers ?? [];
  return {
    path,
    environment,
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

/**
 * The settings that wrangler uses for an environment. `own` is its section of the file. Bindings and variables are not
 * inherited.
 */
function inEnvironment(path: string, file: RawConfig, environment: string, own: object | undefined): RawConfig {
  const { env = {}, vars, secrets, queues, ...inherited } = file;
  if (environment === '') return { ...inherited, vars, secrets, queues };
  if (own) return { ...inherited, name: `${file.name}-${environment}`, ...own } as RawConfig;
  throw new UserError(
    `${path} has no environment ${environment} (it has ${Object.keys(env).join(', ') || 'none'}): npm run setup -- --env ${environment} adds it`,
  );
}

/** The names of a wrangler file's environments, without the unnamed one. */
function environmentsIn(path: string): string[] {
  return Object.keys(readRaw(path).env ?? {});
}

/** Variables that stop wrangler's requests for the machine's location, updates and statistics. */
export const OFFLINE = {
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_SEND_METRICS: 'false',
  // The banner would ask the npm registry for a newer version.
  WRANGLER_HIDE_BANNER: 'true',
};

/**
 * Loads wrangler only when it is needed, because that takes more than a second. An `import` would take even longer,
 * because Node would search 14 MB of source for the names of exports.
 */
export function loadWrangler(): Wrangler {
  return createRequire(resolve('package.json'))('wrangler');
}

export function readRaw(path: string): RawConfig {
  try {
    return loadWrangler().experimental_readRawConfig({ config: path }).rawConfig;
  } catch (error) {
    const { message, location } = error as Error & { location?: { line?: number } };
    throw new UserError(`${path}${location?.line ? `:${location.line}` : ''} can't be read: ${message}`);
  }
}

/** All secrets except the database's URL, which each Worker gets from elsewhere. */
const otherSecrets = ({ secrets }: Pick<WorkerConfig, 'secrets'>) => secrets.filter((name) => name !== 'DATABASE_URL');

/** Some secrets are URLs, such as a Slack webhook's. Only the name shows it. */
const isUrlByName = (name: string) => name.endsWith('_URL');

/**
 * Replaces every URL with the stand-in for the outside: http(s) URLs among a Worker's variables, and secrets with the
 * name of a URL.
 */
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

// Standard wrangler environments: `[env.staging]` in each of the wrangler files. Text is only appended to the files, so
// that comments are preserved.

const files = () => Object.values(CONFIGS).filter((path) => existsSync(path));

/** All environments in any wrangler file. The empty name stands for the top level. */
export function allEnvironments(): string[] {
  return ['', ...new Set(files().flatMap(environmentsIn))];
}

/** The wrangler files that lack an environment. */
export function filesWithout(environment: string): string[] {
  return environment === '' ? [] : files().filter((path) => !environmentsIn(path).includes(environment));
}

export function addEnvironment(path: string, environment: string): void {
  const title = `# The environment ${environment}: the settings that it doesn't inherit from above. npm run check compares them.`;
  append(path, `${title}\n${toml(ownOf(readRaw(path), environment), `env.${environment}`)}`);
}

/** `isOwn` says whether the environment sets its own placement instead of inheriting it from the top level. */
export function placementOf({ path, environment, raw }: WorkerConfig): {
  readonly placement: { readonly region?: string } | undefined;
  readonly isOwn: boolean;
} {
  const file = readRaw(path);
  return { placement: raw.placement, isOwn: (environment ? file.env?.[environment] : file)?.placement !== undefined };
}

/** Makes the Worker's `fetch` handler run near the database. */
export function addPlacement({ path, environment }: WorkerConfig, region: string): void {
  const at = environment === '' ? 'placement' : `env.${environment}.placement`;
  append(
    path,
    `# Near the database, so that a delivery's statement doesn't cross the world.\n[${at}]\nregion = "${region}"\n`,
  );
}

function append(path: string, text: string): void {
  const before = readFileSync(path, 'utf8');
  appendFileSync(path, `${before.endsWith('\n') ? '' : '\n'}\n${text}`);
}

/**
 * The settings of a new environment. Routes are not inherited, because a custom domain would move away from the Worker
 * that has it.
 */
function ownOf({ name, vars, secrets, queues, route, routes }: RawConfig, environment: string): object {
  const producers: { queue?: string }[] = queues?.producers ?? [];
  const consumers: { queue: string; dead_letter_queue?: string }[] = queues?.consumers ?? [];
  const shared = new Set([
    ...producers.map(({ queue }) => queue),
    ...consumers.flatMap((one) => [one.queue, one.dead_letter_queue]),
  ]);
  const withOwnQueues = (table: object) =>
    Object.fromEntries(
      Object.entries(table).map(([key, value]) => [key, shared.has(value) ? `${value}-${environment}` : value]),
    );
  const lists = Object.entries({ producers, consumers }).filter(([, list]) => list.length > 0);
  return {
    name: `${name}-${environment}`,
    ...(route || routes ? { workers_dev: true, routes: [] } : {}),
    ...(vars ? { vars: withOwnQueues(vars) } : {}),
    ...(secrets ? { secrets } : {}),
    queues: Object.fromEntries(lists.map(([key, list]) => [key, list.map(withOwnQueues)])),
  };
}

/** Writes TOML. `path` is the name of the table. Strings are escaped as in JSON. */
function toml(table: object, path: string, brackets = '[]'): string {
  const isTable = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  // Write empty lists, because `routes = []` overrides the routes at the top level.
  const isTables = (value: unknown): value is object[] =>
    Array.isArray(value) && value.length > 0 && value.every(isTable);
  const lines: string[] = [];
  const tables: string[] = [];
  for (const [key, value] of Object.entries(table)) {
    if (isTable(value)) tables.push(toml(value, `${path}.${key}`));
    else if (isTables(value)) tables.push(...value.map((one) => toml(one, `${path}.${key}`, '[[]]')));
    else lines.push(`${key} = ${JSON.stringify(value, undefined, Array.isArray(value) ? 2 : 0)}\n`);
  }
  const [open = '', close = ''] = [brackets.slice(0, brackets.length / 2), brackets.slice(brackets.length / 2)];
  const own = lines.length > 0 ? [`${open}${path}${close}\n${lines.join('')}`] : [];
  return [...own, ...tables].join('\n');
}
