import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { checkConfiguration } from '../config/configuration.ts';
import { DEV_VARS, ensureDevVars, problemsInDevVars } from '../config/dev-vars.ts';
import { CONFIGS, listed, readConfigs, WORKERS, type WorkerKind } from '../config/worker-config.ts';
import { AGAIN, loadSources, type Sources } from '../lib/app.ts';
import { UserError } from '../lib/user-error.ts';
import type { Stack } from '../local/stack.ts';
import { devFolder, frontConfig, guarded, localConfig, valuesFor, writeCopy } from '../local/worker-copies.ts';

const SOURCES = 'src/sources.ts';

/** While wrangler takes up a change of its configuration it doesn't notice another. It needs a fraction of this time. */
const NEXT_WRITE_AFTER_MS = 2000;

/** Keeps the copies of the wrangler files as they should be for `npm run dev`, while the files change. */
export interface Configurator {
  readonly databaseUrl: string | undefined;
  /** The Workers that there are, by their names. */
  readonly names: ReadonlyMap<WorkerKind, string>;
  /** True if anything has changed. */
  write(servers: LocalServers): boolean;
  /** Writes the copies again whenever a file has changed. Returns how to stop that. */
  watch(servers: LocalServers): () => void;
}

/** What the Workers use on this machine. It is the same as long as dev runs. */
export type LocalServers = Pick<Stack, 'outside' | 'workerUrls'>;

/**
 * `frontSecret` is what the proxy adds to its requests. Without it there is a tunnel, which goes past the proxy, and the console
 * is not open to whoever reaches the port.
 */
export async function createConfigurator(
  sources: Sources,
  frontSecret: string | undefined,
  say: (text: string) => void,
): Promise<Configurator> {
  let latestSources = sources;
  let current = await load(sources, say);
  let errors = sayNew(current.errors, [], say);
  const started = current;

  const write = ({ outside, workerUrls }: LocalServers) => {
    const { configs, devVars } = current;
    const changed = WORKERS.map((worker) => {
      const config = configs[worker];
      if (!config) return false;
      const values = { ...valuesFor(worker, config, devVars), DATABASE_URL: workerUrls[worker] };
      // Without `minify` the names in the frames of errors stay readable.
      const copy = { ...localConfig(config, outside.url, values), minify: false };
      const folder = devFolder(worker);
      return writeCopy(folder, worker === 'consumer' ? guarded(folder, copy, 'src') : copy);
    });
    const front = frontConfig(configs.receiver, configs.consumer, configs.ops, {
      isOpen: frontSecret !== undefined,
      secret: frontSecret,
    });
    return [...changed, writeCopy(devFolder('front'), front)].includes(true);
  };

  const refresh = async (servers: LocalServers) => {
    try {
      // If it can't be loaded, wrangler says so: it builds the same file.
      latestSources = await loadSources(AGAIN()).catch(() => latestSources);
      current = await load(latestSources, say);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      return say(`${error.message}: the previous version stays in use`);
    }
    errors = sayNew(current.errors, errors, say);
    const mustRestart = whatNeedsRestart(started, current);
    if (mustRestart) return say(`${mustRestart} has changed: restart npm run dev`);
    if (!write(servers)) return;
    say('the configuration has changed: reloading');
    await new Promise((resolve) => setTimeout(resolve, NEXT_WRITE_AFTER_MS));
  };

  return {
    databaseUrl: started.devVars.DATABASE_URL,
    names: new Map(
      WORKERS.flatMap((worker) => {
        const config = started.configs[worker];
        return config ? [[worker, config.name] as const] : [];
      }),
    ),
    write,
    watch(servers) {
      let last = Promise.resolve();
      return watchFiles([...Object.values(CONFIGS), DEV_VARS, SOURCES], () => {
        last = last.then(() => refresh(servers)).catch((error) => console.error(error));
      });
    },
  };
}

async function load(sources: Sources, say: (text: string) => void) {
  const configs = readConfigs();
  const { vars: devVars, added } = await ensureDevVars(sources, listed(configs));
  if (added.length > 0) say(`${DEV_VARS}: added ${added.join(', ')}`);
  const { errors } = checkConfiguration({ sources, ...configs });
  const notReady = errors.map((error) => `not ready for a deploy: ${error}`);
  return { configs, devVars, errors: [...(await problemsInDevVars(sources)), ...notReady] };
}

/** These errors don't prevent a local run, so each is printed only once. */
function sayNew(errors: readonly string[], before: readonly string[], say: (text: string) => void): readonly string[] {
  for (const error of errors) if (!before.includes(error)) say(error);
  return errors;
}

type Loaded = Awaited<ReturnType<typeof load>>;

/** The database is already running with this URL, and wrangler identifies a Worker by its name. */
function whatNeedsRestart(before: Loaded, now: Loaded): string | undefined {
  if (before.devVars.DATABASE_URL !== now.devVars.DATABASE_URL) return `DATABASE_URL in ${DEV_VARS}`;
  const renamed = WORKERS.find((worker) => before.configs[worker]?.name !== now.configs[worker]?.name);
  return renamed && `the name in ${CONFIGS[renamed]}`;
}

/** An editor may write a file in several steps. */
const SETTLED_AFTER_MS = 100;

/** Calls back after any of the files has changed. Their folders are watched, because editors replace files. */
export function watchFiles(files: readonly string[], onChange: () => void): () => void {
  const stops = [...new Set(files.map(dirname))].map((folder) => {
    const names = new Set(files.filter((file) => dirname(file) === folder).map((file) => basename(file)));
    return watchFolder(folder, onChange, { isWatched: (name) => names.has(name), recursive: false });
  });
  return () => {
    for (const stop of stops) stop();
  };
}

/** Calls back after any file in the folder, or in a folder below it, has changed. */
export function watchFolder(
  folder: string,
  onChange: () => void,
  { isWatched, recursive } = { isWatched: (_name: string) => true, recursive: true },
): () => void {
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(folder, { recursive }, (_event, name) => {
    if (name !== null && !isWatched(name)) return;
    clearTimeout(timer);
    timer = setTimeout(onChange, SETTLED_AFTER_MS);
  });
  return () => {
    clearTimeout(timer);
    watcher.close();
  };
}
