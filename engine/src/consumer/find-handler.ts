import type { LoadedEvent } from '../db/events.ts';
import type { Handler, HandlerList, Handlers } from '../kit/index.ts';
import { covers } from '../shared/event-types.ts';
import { ATTEMPTS } from './judge.ts';

/** What `handlers` has for an event: a handler, or a list that is worked as one. */
export type Entry = Handler | HandlerList;

/** The most specific entry wins: the type itself, then the longest pattern. Two patterns of one length never match one type. */
export function handlerOf(
  { source, type }: Pick<LoadedEvent, 'source' | 'type'>,
  handlers: Handlers,
): Entry | undefined {
  const ofSource = Object.hasOwn(handlers, source) ? handlers[source] : undefined;
  if (ofSource === undefined) return undefined;
  const exact = type !== null && Object.hasOwn(ofSource, type) ? type : undefined;
  const patterns = () => Object.keys(ofSource).filter((pattern) => pattern.endsWith('*') && covers(pattern, type));
  const found = exact ?? patterns().sort((a, b) => b.length - a.length)[0];
  // An entry without a value is a mistake (an import that was not ready), and its events must not be ignored.
  return found === undefined ? undefined : (ofSource[found] ?? {});
}

/** The handlers of an entry. Those of a list have names. */
export function handlersIn(entry: Entry): readonly (readonly [name: string | undefined, handler: Handler])[] {
  return isOne(entry) ? [[undefined, entry]] : Object.entries(entry);
}

export function isOne(entry: Entry): entry is Handler {
  return typeof entry.handle === 'function';
}

/** After how many attempts an event is parked, and by which constraints at once. A list fails as one. */
export function limitsOf(entry: Entry): { readonly maxAttempts?: number; readonly parkOn?: readonly string[] } {
  if (isOne(entry)) {
    const { attempts, parkOn } = entry;
    return { ...(attempts !== undefined && { maxAttempts: attempts }), ...(parkOn && { parkOn }) };
  }
  const handlers = Object.values(entry).filter((handler) => handler !== undefined);
  if (handlers.length === 0) return {};
  return {
    maxAttempts: Math.min(...handlers.map(({ attempts = ATTEMPTS }) => attempts)),
    parkOn: handlers.flatMap(({ parkOn = [] }) => parkOn),
  };
}
