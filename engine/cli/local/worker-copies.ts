import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { TENANTS_KEY } from '../config/secret-form.ts';
import { type RawConfig, standInVars, type WorkerConfig, type WorkerKind } from '../config/worker-config.ts';

// The Workers as they run on this machine. Wrangler reads copies of their files. So a Worker doesn't get all of
// `.dev.vars`, which wrangler would read next to the original file, and URLs in [vars] are replaced with the stand-in
// for the outside.

/** A file next to this one: TypeScript in a workspace, JavaScript in the package. */
const OWN = (name: string) => resolve(import.meta.dirname, name + extname(import.meta.filename));

export type LocalConfig = RawConfig & { readonly name: string; readonly main: string };

/** Optional settings that a Worker's wrangler file doesn't list. The receiver also reads its sources' secrets. */
const OPTIONAL: Readonly<Record<Exclude<WorkerKind, 'receiver'>, readonly string[]>> = {
  consumer: ['OPS_URL', 'ALERT_WEBHOOK_URL', 'ALERT_WEBHOOK_SECRET', 'ALERT_PENDING_MINUTES'],
  ops: ['OPS_TOKEN', 'ACCESS_AUD'],
};

/** The secrets that receiver and ops share. */
const OF_TENANTS = [TENANTS_KEY, `${TENANTS_KEY}_PREVIOUS`];

/**
 * The values for one Worker. As in production, it doesn't get those of others, so a handler never sees a source's
 * secret.
 */
export function valuesFor(
  worker: WorkerKind,
  { vars, secrets }: WorkerConfig,
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  const named = new Set([...Object.keys(vars), ...secrets, ...(worker === 'receiver' ? [] : OPTIONAL[worker])]);
  const others = new Set(Object.values(OPTIONAL).flat());
  const isShared = (name: string) => worker === 'ops' && OF_TENANTS.includes(name);
  const isFor = (name: string) => named.has(name) || isShared(name) || (worker === 'receiver' && !others.has(name));
  return Object.fromEntries(Object.entries(values).filter(([name]) => isFor(name)));
}

/** Turns `values` into variables, because wrangler only passes on secrets that `secrets.required` lists. */
export function localConfig(
  config: WorkerConfig,
  outsideUrl: string,
  values: Readonly<Record<string, string>>,
): LocalConfig {
  // Remove the cron, which runs through the front Worker, because wrangler would warn that it doesn't run. Remove
  // routes, because wrangler would change the URL of each request.
  const { secrets: _secrets, triggers: _triggers, route: _route, routes: _routes, ...raw } = config.raw;
  return {
    ...raw,
    name: config.name,
    main: resolve(dirname(config.path), config.main),
    vars: { ...config.vars, ...standInVars(config, outsideUrl), ...values },
  };
}

/**
 * The configuration of the front Worker (front.ts). Wrangler fills `ctx.access` in the Worker that receives HTTP, so
 * this one gets the ops Worker's [access.dev] if the console is open. With a secret it refuses requests that didn't
 * come through the proxy (engine/cli/dev/proxy.ts).
 */
export function frontConfig(
  receiver: WorkerConfig,
  consumer: WorkerConfig | undefined,
  ops: WorkerConfig | undefined,
  { isOpen, secret }: { readonly isOpen: boolean; readonly secret?: string | undefined } = { isOpen: true },
): LocalConfig {
  const services = [
    { binding: 'RECEIVER', service: receiver.name },
    ...(consumer ? [{ binding: 'CONSUMER', service: consumer.name }] : []),
    ...(ops ? [{ binding: 'OPS', service: ops.name }] : []),
  ];
  return {
    name: 'local-front',
    main: OWN('front'),
    compatibility_date: receiver.raw.compatibility_date,
    compatibility_flags: ['service_binding_extra_handlers'],
    services,
    ...(secret === undefined ? {} : { vars: { SECRET: secret } }),
    ...(ops?.raw.access && isOpen ? { access: ops.raw.access } : {}),
  };
}

/**
 * A consumer whose `fetch` can't call real hosts, because its entry is a file in `folder` that loads guard.ts first.
 * With the app's folder, it also prints what a schema expected, and which statements a handler didn't return.
 */
export function guarded(folder: string, config: LocalConfig, app?: string): LocalConfig {
  const main = resolve(folder, 'index.ts');
  const worker = JSON.stringify(config.main);
  const guard = JSON.stringify(OWN('guard'));
  const lines = [`import ${guard};`, `export * from ${worker};`, `export { default } from ${worker};`];
  if (app) {
    const file = (name: string) => JSON.stringify(resolve(app, name, 'index.ts'));
    lines.push(
      `import { printMismatches, printUnreturned } from ${guard};`,
      `import { handlers } from ${file('handlers')};`,
      `import { effects } from ${file('effects')};`,
      // The file may be empty for a moment while an editor saves it.
      'printMismatches(handlers, effects);',
      'printUnreturned(handlers);',
    );
  }
  writeIfChanged(main, `${lines.join('\n')}\n`);
  return { ...config, main };
}

/** A Worker that uses a test's clock. */
export function onTestClock(folder: string, config: LocalConfig): LocalConfig {
  const main = resolve(folder, 'on-test-clock.ts');
  const [worker, clock] = [config.main, OWN('clock')].map((path) => JSON.stringify(path));
  // Import the clock first, so that it also applies while the Worker's modules are loaded.
  writeIfChanged(
    main,
    `import { onTestClock } from ${clock};\nimport worker from ${worker};\nexport * from ${worker};\nexport default onTestClock(worker);\n`,
  );
  return { ...config, main };
}

/** Writes a copy to its own folder, because wrangler puts the bundle next to it. */
export function writeCopy(folder: string, config: LocalConfig): void {
  writeIfChanged(copyIn(folder), JSON.stringify(config, undefined, 2));
}

/** The folder in which `npm run dev` keeps the copy of a Worker's file. */
export function devFolder(worker: WorkerKind | 'front'): string {
  return join('.data/dev', worker);
}

export function copyIn(folder: string): string {
  return join(folder, 'wrangler.json');
}

/** Doesn't touch an unchanged file, because another process may be reading it. */
function writeIfChanged(path: string, text: string): void {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return;
  mkdirSync(dirname(path), { recursive: true });
  // The copies of npm run dev contain secrets.
  writeFileSync(path, text, { mode: 0o600 });
}
