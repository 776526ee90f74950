import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, resolve } from 'node:path';
import { TENANTS_KEY } from '../config/secret-form.ts';
import { type RawConfig, standInVars, type WorkerConfig, type WorkerKind } from '../config/worker-config.ts';

// The Workers as they run on this machine. wrangler reads copies of their files and never the files themselves, so that no
// `.dev.vars` beside a file reaches a Worker that should not have it, and a URL that is added to [vars] is never called: the
// copy has the stand-in for the outside in its place.

/** A file beside this one: TypeScript in a workspace, JavaScript in the package. */
const OWN = (name: string) => resolve(import.meta.dirname, name + extname(import.meta.filename));

export type LocalConfig = RawConfig & { readonly name: string; readonly main: string };

/** What a Worker reads besides what its wrangler file names. The receiver reads secrets of its sources. */
const OPTIONAL: Readonly<Record<Exclude<WorkerKind, 'receiver'>, readonly string[]>> = {
  consumer: ['OPS_URL', 'ALERT_WEBHOOK_URL', 'ALERT_WEBHOOK_SECRET', 'ALERT_PENDING_MINUTES'],
  ops: ['OPS_TOKEN', 'ACCESS_AUD'],
};

/** What receiver and ops share. */
const OF_TENANTS = [TENANTS_KEY, `${TENANTS_KEY}_PREVIOUS`];

/** As in production, a Worker doesn't get what is another's: a handler never sees the secret of a source. */
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

/** `values` become variables: wrangler passes on no secret that `secrets.required` doesn't list. */
export function localConfig(
  config: WorkerConfig,
  outsideUrl: string,
  values: Readonly<Record<string, string>>,
): LocalConfig {
  // The cron is ticked through the front Worker, and wrangler would warn that it doesn't run. With a route, wrangler would
  // give the Worker another URL than the one that was called.
  const { secrets: _secrets, triggers: _triggers, route: _route, routes: _routes, ...raw } = config.raw;
  return {
    ...raw,
    name: config.name,
    main: resolve(dirname(config.path), config.main),
    vars: { ...config.vars, ...standInVars(config, outsideUrl), ...values },
  };
}

/**
 * See front.ts. If the console is open, it has the [access.dev] of the ops Worker, because wrangler fills `ctx.access` where
 * HTTP comes in. With a secret it refuses what has not come through the proxy (engine/cli/dev/proxy.ts).
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
 * A consumer whose `fetch` calls no real host: its entry is a file in `folder` that loads guard.ts first. With the folder of
 * the app, it also prints what a schema of it expected, and which statements a handler has built in vain.
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
      // For a moment while an editor saves it, the file is empty.
      'printMismatches(handlers, effects);',
      'printUnreturned(handlers);',
    );
  }
  writeIfChanged(main, `${lines.join('\n')}\n`);
  return { ...config, main };
}

/** A Worker whose clock a test sets. */
export function onTestClock(folder: string, config: LocalConfig): LocalConfig {
  const main = resolve(folder, 'on-test-clock.ts');
  const [worker, clock] = [config.main, OWN('clock')].map((path) => JSON.stringify(path));
  // The clock first: what the Worker's modules do when they are loaded sees it too.
  writeIfChanged(
    main,
    `import { onTestClock } from ${clock};\nimport worker from ${worker};\nexport * from ${worker};\nexport default onTestClock(worker);\n`,
  );
  return { ...config, main };
}

/** Each copy has a folder of its own, because wrangler keeps the bundle beside it. */
export function writeCopy(folder: string, config: LocalConfig): void {
  writeIfChanged(copyIn(folder), JSON.stringify(config, undefined, 2));
}

/** Where `npm run dev` keeps the copy of a Worker's file. */
export function devFolder(worker: WorkerKind | 'front'): string {
  return join('.data/dev', worker);
}

export function copyIn(folder: string): string {
  return join(folder, 'wrangler.json');
}

/** Unchanged if it is the same: another process may be reading it. */
function writeIfChanged(path: string, text: string): void {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return;
  mkdirSync(dirname(path), { recursive: true });
  // Those of npm run dev hold secrets.
  writeFileSync(path, text, { mode: 0o600 });
}
