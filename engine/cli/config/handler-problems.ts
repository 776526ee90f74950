import { type Entry, isOne } from '../../src/consumer/find-handler.ts';
import type { Handler, Handlers } from '../../src/kit/index.ts';
import { problemOfPattern } from '../../src/shared/event-types.ts';

const OPTIONS = ['schema', 'attempts', 'parkOn', 'handle'] satisfies readonly (keyof Handler)[];

/** Finds mistakes in the handlers that the compiler can't see. Their events would be parked or never worked. */
export function handlerProblems(handlers: Handlers): string[] {
  return Object.entries(handlers).flatMap(([source, ofSource = {}]) =>
    Object.entries(ofSource).flatMap(([type, entry]) => {
      const pattern = problemOfPattern(type);
      const problems = [...(pattern ? [`the type ${pattern}`] : []), ...problemsIn(entry)];
      return problems.map((problem) => `handlers of ${source}/${type}: ${problem} (src/handlers/index.ts)`);
    }),
  );
}

function problemsIn(entry: Entry | undefined): string[] {
  if (typeof entry !== 'object' || entry === null) return [`there is ${entry} instead of a handler`];
  if (Array.isArray(entry)) return ['a list of handlers needs names: { book, notify } instead of [book, notify]'];
  if (isOne(entry)) return unknownOptions(entry);
  const names = Object.keys(entry);
  if (names.length === 0) return ['the list is empty'];
  return names.flatMap((name) => {
    const handler: Partial<Handler> | undefined = entry[name];
    if (typeof handler?.handle !== 'function') return `${name} is not a handler: write it with defineHandler()`;
    return unknownOptions(handler).map((problem) => `${name}: ${problem}`);
  });
}

function unknownOptions(handler: Partial<Handler>): string[] {
  return Object.keys(handler)
    .filter((option) => !OPTIONS.some((known) => known === option))
    .map((option) => `a handler has no option ${option}: it has ${OPTIONS.join(', ')}`);
}
