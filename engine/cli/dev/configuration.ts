import { existsSync, readFileSync } from 'node:fs';
import { secretName } from '../../src/receiver/secrets.ts';
import { checkConfiguration } from '../config/configuration.ts';
import { DEV_VARS, ensureDevVars, problemsInDevVars } from '../config/dev-vars.ts';
import { CONFIGS, listed, readConfigs, WORKERS, type WorkerConfigs } from '../config/worker-config.ts';
import { AGAIN, loadSources, SOURCES, type Sources } from '../lib/app.ts';
import type { Stack } from '../local/stack.ts';
import { devFolder, frontConfig, guarded, localConfig, valuesFor, writeCopy } from '../local/worker-copies.ts';
import { watchFiles } from './watch.ts';

/** The configuration of `npm run dev`. It is read once, so a change of these files requires a restart. */
export interface DevConfiguration {
  readonly configs: WorkerConfigs;
  readonly devVars: Readonly<Record<string, string>>;
}

export async function readConfiguration(sources: Sources, say: (text: string) => void): Promise<DevConfiguration> {
  const configs = readConfigs();
  const { vars: devVars, added } = await ensureDevVars(sources, listed(configs));
  if (added.length > 0) say(`${DEV_VARS}: added ${added.join(', ')}`);
  for (const problem of await problemsInDevVars(sources)) say(problem);
  for (const error of checkConfiguration({ sources, ...configs }).errors) say(`not ready for a deploy: ${error}`);
  return { configs, devVars };
}

/**
 * Writes the copies of the wrangler files. `frontSecret` is what the proxy adds to its requests. It is absent if there
 * is a tunnel, which bypasses the proxy. The console is then not open to everybody who reaches the port.
 */
export function writeCopies(
  { configs, devVars }: DevConfiguration,
  { outside, workerUrls }: Pick<Stack, 'outside' | 'workerUrls'>,
  frontSecret: string | undefined,
): void {
  for (const worker of WORKERS) {
    const config = configs[worker];
    if (!config) continue;
    const values = { ...valuesFor(worker, config, devVars), DATABASE_URL: workerUrls[worker] };
    // Disable `minify`, so that names in stack frames stay readable.
    const copy = { ...localConfig(config, outside.url, values), minify: false };
    const folder = devFolder(worker);
    writeCopy(folder, worker === 'consumer' ? guarded(folder, copy, 'src') : copy);
  }
  const { receiver, consumer, ops } = configs;
  const front = { isOpen: frontSecret !== undefined, secret: frontSecret };
  writeCopy(devFolder('front'), frontConfig(receiver, consumer, ops, front));
}

/** Reports changes of files that are only read at the start, and new sources without a secret. */
export function watchConfiguration({ devVars }: DevConfiguration, say: (text: string) => void): () => void {
  const contentOf = (file: string) => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  const stops = [...Object.values(CONFIGS), DEV_VARS].map((file) => {
    const before = contentOf(file);
    return watchFiles([file], () => {
      if (contentOf(file) !== before) say(`${file} has changed: restart npm run dev`);
    });
  });
  const askForSecrets = async () => {
    // Ignore a load error, because wrangler builds the same file and reports it.
    const sources = await loadSources(AGAIN()).catch((): Sources => ({}));
    const tenantsKey = Object.values(sources).some(({ tenants }) => tenants) ? ['TENANTS_KEY'] : [];
    const missing = [...Object.keys(sources).map(secretName), ...tenantsKey].filter((name) => !devVars[name]);
    if (missing.length > 0) say(`${SOURCES} needs ${missing.join(', ')}: restart npm run dev, which generates it`);
  };
  stops.push(watchFiles([SOURCES], () => void askForSecrets()));
  return () => {
    for (const stop of stops) stop();
  };
}
