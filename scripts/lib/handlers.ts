import { handlerOf } from '../../src/consumer/ask-handler.ts';
import type { Handlers, Source } from '../../src/kit/index.ts';

/** A hint for each type that a source names and no handler takes: its events will be parked. */
export function typesWithoutHandler(sources: Readonly<Record<string, Source>>, handlers: Handlers): string[] {
  return Object.entries(sources).flatMap(([source, { types }]) =>
    types
      .filter((type) => handlerOf({ source, type }, handlers) === undefined)
      .map((type) => `no handler for ${source}/${type}: write one, or remove the type from src/app/sources.ts`),
  );
}
