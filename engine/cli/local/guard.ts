import { env } from 'cloudflare:workers';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { Effect, type EffectKind, type Event, type Handler, type Handlers, type Tools } from '../../src/kit/index.ts';
import { isLoopback } from '../../src/shared/loopback.ts';
import { cleanText } from '../../src/shared/text.ts';

/**
 * On this machine the consumer loads this file first (worker-copies.ts). It makes `fetch` refuse every host that is
 * neither local nor in one of the Worker's variables. Otherwise a URL in the code, or in a package, would really be
 * called while somebody tries an event. Never deployed.
 */
const known = new Set(Object.values(env).map(hostOf));
const call = globalThis.fetch;

// Replace the global function, because packages call it.
globalThis.fetch = async (...request) => {
  const [input] = request;
  const host = hostOf(input instanceof Request ? input.url : String(input));
  if (host !== undefined && !isLoopback(host) && !known.has(host)) {
    const error = new Error(
      `a local run must not call ${host}: put its URL into [vars] of wrangler.consumer.toml (or into a secret whose name ends in _URL) and read it from env`,
    );
    // Any other failed call would be taken for an outage of the host, which doesn't count as an attempt.
    error.name = 'AbortError';
    throw error;
  }
  return call(...request);
};

function hostOf(url: unknown): string | undefined {
  return typeof url === 'string' ? URL.parse(url)?.hostname : undefined;
}

/** More would not fit on a screen. */
const MAX_ISSUES = 5;
const MAX_LENGTH = 200;

/** Prints what a schema expected. The log contains only the path, because schema messages quote payloads. */
export function printMismatches(
  handlers: Handlers | undefined,
  effects: Readonly<Record<string, EffectKind>> | undefined,
): void {
  const all: readonly { readonly schema?: StandardSchemaV1 | undefined }[] = [
    ...handlersIn(handlers),
    ...Object.values(effects ?? {}),
  ];
  for (const schema of new Set(all.flatMap((one) => one.schema ?? []))) {
    const standard = schema['~standard'];
    const validate = async (value: unknown) => {
      const result = await standard.validate(value);
      for (const { path = [], message } of result.issues?.slice(0, MAX_ISSUES) ?? []) {
        const steps = path.map((step) => String(typeof step === 'object' ? step.key : step));
        console.log(cleanText(`schema         ${steps.join('.') || 'the payload'}: ${message}`, MAX_LENGTH));
      }
      return result;
    };
    // Replace the whole property, because some libraries recreate it on each access and it may be frozen.
    Reflect.defineProperty(schema, '~standard', { value: { ...standard, validate } });
  }
}

const WRITES: readonly PropertyKey[] = ['insert', 'update', 'delete'];

/** Reports statements that a handler has built but not returned. They have no effect, and nothing else shows this. */
export function printUnreturned(handlers: Handlers | undefined): void {
  for (const handler of handlersIn(handlers)) {
    const { handle } = handler;
    const counting = (event: Event<never>, tools: Tools) => {
      let built = 0;
      const db = new Proxy(tools.db, {
        get(target, name) {
          if (WRITES.includes(name)) built++;
          return Reflect.get(target, name);
        },
      });
      const compare = (changes: Awaited<ReturnType<typeof handle>>) => {
        const returned = Array.isArray(changes)
          ? changes.filter((change) => !(change instanceof Effect)).length
          : built;
        const { source, type } = event;
        if (returned < built) {
          const counts = `built ${built} statements and returned ${returned}`;
          console.log(`not returned   ${source}/${type} ${counts}. Only returned statements are committed`);
        }
        return changes;
      };
      const changes = handle.call(handler, event, { ...tools, db });
      // Don't await anything else: a statement that is returned without an array would run.
      return changes instanceof Promise ? changes.then(compare) : compare(changes);
    };
    Reflect.set(handler, 'handle', counting);
  }
}

/** All handlers, including those in lists. `check` reports entries that aren't handlers. */
function handlersIn(handlers: Handlers | undefined): Set<Handler> {
  const entries = Object.values(handlers ?? {}).flatMap((ofSource) => Object.values(ofSource ?? {}));
  const all = entries.flatMap((entry = {}) =>
    typeof entry.handle === 'function' ? (entry as Handler) : Object.values(entry),
  );
  return new Set(all.filter((handler) => typeof handler?.handle === 'function'));
}
