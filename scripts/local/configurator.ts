import type { WorkerKind } from '../../src/db/rights.ts';
import type { Source } from '../../src/kit/index.ts';
import { CONSUMER_CONFIG, RECEIVER_CONFIG, readConfig } from './config.ts';
import { checkConfiguration } from './configuration.ts';
import { DEV_VARS, ensureDevVars } from './dev-vars.ts';
import { effectiveConfig, onlyNamed, writeCopy } from './effective-config.ts';
import { UserError } from './user-error.ts';
import { watchFiles } from './watch.ts';

const SOURCES = 'src/app/sources.ts';

/** While wrangler takes up a change of its configuration it doesn't notice another. It needs a fraction of this time. */
const NEXT_WRITE_AFTER_MS = 2000;

/** Keeps the copies of the wrangler files as they should be for `npm run dev`, while the files change. */
export interface Configurator {
  readonly databaseUrl: string | undefined;
  readonly names: () => Record<WorkerKind, string>;
  /** True if anything has changed. */
  write(servers: LocalServers): boolean;
  /** Writes the copies again whenever a file has changed. Returns how to stop that. */
  watch(servers: LocalServers): () => void;
}

/** What the Workers use on this machine. It is the same as long as dev runs. */
export interface LocalServers {
  readonly outsideUrl: string;
  readonly workerUrls: Readonly<Record<WorkerKind, string>>;
}

type Sources = Readonly<Record<string, Source>>;

export async function createConfigurator(sources: Sources, say: (text: string) => void): Promise<Configurator> {
  let latestSources = sources;
  let current = await load(sources, say);
  let errors = sayNew(current.errors, [], say);
  const started = current;

  const write = ({ outsideUrl, workerUrls }: LocalServers) => {
    const { receiver, consumer, devVars } = current;
    const receiverCopy = effectiveConfig(receiver, { devVars, outsideUrl, databaseUrl: workerUrls.receiver });
    const consumerCopy = effectiveConfig(consumer, {
      devVars: onlyNamed(consumer, devVars),
      outsideUrl,
      databaseUrl: workerUrls.consumer,
    });
    const changed = [writeCopy('receiver', receiverCopy), writeCopy('consumer', consumerCopy)];
    return changed.includes(true);
  };

  const refresh = async (servers: LocalServers) => {
    const before = current;
    try {
      latestSources = await sourcesNow(latestSources);
      current = await load(latestSources, say);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      return say(`${error.message}: the previous version stays in use`);
    }
    errors = sayNew(current.errors, errors, say);
    const mustRestart = whatNeedsRestart(started, current);
    if (mustRestart) {
      current = before;
      return say(`${mustRestart} has changed: restart npm run dev`);
    }
    if (!write(servers)) return;
    say('the configuration has changed: reloading');
    await new Promise((resolve) => setTimeout(resolve, NEXT_WRITE_AFTER_MS));
  };

  return {
    databaseUrl: started.devVars.DATABASE_URL,
    names: () => ({ receiver: started.receiver.name, consumer: started.consumer.name }),
    write,
    watch(servers) {
      const files = [RECEIVER_CONFIG, CONSUMER_CONFIG, DEV_VARS, SOURCES];
      let last = Promise.resolve();
      return watchFiles(files, () => {
        last = last.then(() => refresh(servers)).catch((error) => console.error(error));
      });
    },
  };
}

async function load(sources: Sources, say: (text: string) => void) {
  const [receiver, consumer] = [readConfig(RECEIVER_CONFIG), readConfig(CONSUMER_CONFIG)];
  const { vars: devVars, added } = await ensureDevVars(sources, [receiver, consumer]);
  if (added.length > 0) say(`${DEV_VARS}: added ${added.join(', ')}`);
  const { errors } = checkConfiguration({ sources, receiver, consumer });
  return { receiver, consumer, devVars, errors };
}

/** These errors don't prevent a local run, so each is printed only once. */
function sayNew(errors: readonly string[], before: readonly string[], say: (text: string) => void): readonly string[] {
  for (const error of errors) if (!before.includes(error)) say(`not ready for a deploy: ${error}`);
  return errors;
}

/** Node imports a module only once. With another query it is another module. */
async function sourcesNow(before: Sources): Promise<Sources> {
  try {
    return (await import(`../../${SOURCES}?${Date.now()}`)).sources;
  } catch {
    // wrangler builds the same file, and prints what is wrong with it.
    return before;
  }
}

type Loaded = Awaited<ReturnType<typeof load>>;

/** The database is already running with this URL, and wrangler identifies a Worker by its name. */
function whatNeedsRestart(before: Loaded, now: Loaded): string | undefined {
  if (before.devVars.DATABASE_URL !== now.devVars.DATABASE_URL) return `DATABASE_URL in ${DEV_VARS}`;
  if (before.receiver.name !== now.receiver.name) return `the name in ${RECEIVER_CONFIG}`;
  if (before.consumer.name !== now.consumer.name) return `the name in ${CONSUMER_CONFIG}`;
  return undefined;
}
