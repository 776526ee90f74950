import { env } from 'cloudflare:workers';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { Effect, type EffectKind, type Event, type Handler, type Handlers, type Tools } from '../../src/kit/index.ts';
import { isLoopback } from '../../src/shared/loopback.ts';
import { cleanText } from '../../src/shared/text.ts';

/**
 * On this machine the consumer loads this file first (worker-copies.ts): `fetch` then refuses every host that is neither
 * local nor in a variable of the Worker. Otherwise a URL that is written into the code, or into a package, would be called
 * for real while somebody tries an event. It is never deployed.
 */
const known = new Set(Object.values(env).map(hostOf));
const call = globalThis.fetch;

// Packages call the global function, so that is the one to replace.
globalThis.fetch = async (...request) => {
  const [input] = request;
  const host = hostOf(input instanceof Request ? input.url : String(input));
  if (host !== undefined && !isLoopback(host) && !known.has(host)) {
    const error = new Error(
      `no call to ${host} from a local run: put its URL into [vars] of wrangler.consumer.toml (or into a secret whose name ends in _URL) and read it from env`,
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

/** A screen has no room for more. */
const MAX_ISSUES = 5;
const MAX_LENGTH = 200;

/**
 * Prints what the schema of a handler or an effect expected. The log names only the path: the messages of schemas quote
 * payloads.
 */
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
    // Some libraries make it anew whenever it is read, and it may be frozen.
    Reflect.defineProperty(schema, '~standard', { value: { ...standard, validate } });
  }
}

const WRITES: readonly PropertyKey[] = ['insert', 'update', 'delete'];

/** Prints that a handler has built a statement and not returned it: nothing else would show that it changes nothing. */
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
          console.log(`not returned   ${source}/${type} ${counts}: only what is returned is committed`);
        }
        return changes;
      };
      const changes = handle.call(handler, event, { ...tools, db });
      // A statement that is returned without an array would run if it were awaited.
      return changes instanceof Promise ? changes.then(compare) : compare(changes);
    };
    Reflect.set(handler, 'handle', counting);
  }
}

/** Also those of lists. `check` names what is no handler. */
function handlersIn(handlers: Handlers | undefined): Set<Handler> {
  const entries = Object.values(handlers ?? {}).flatMap((ofSource) => Object.values(ofSource ?? {}));
  const all = entries.flatMap((entry = {}) =>
    typeof entry.handle === 'function' ? (entry as Handler) : Object.values(entry),
  );
  return new Set(all.filter((handler) => typeof handler?.handle === 'function'));
}
