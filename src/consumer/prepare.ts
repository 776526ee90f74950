import type { Completion } from '../db/complete.ts';
import type { EffectKey } from '../db/keys.ts';
import type { WorkableEvent } from '../db/load.ts';
import { changesSettings } from '../db/statement.ts';
import { PermanentError, type Tools } from '../kit/index.ts';
import type { ConsumerDependencies } from './dependencies.ts';
import { askHandler } from './handler.ts';
import { inTime } from './limits.ts';
import { fetchInTrace } from './trace.ts';

/** An event whose handler has answered, ready to be committed. */
export interface Prepared {
  readonly outcome: 'prepared';
  readonly event: WorkableEvent;
  readonly completion: Completion;
  readonly effects: readonly EffectKey[];
  /** It changes settings (`set local`, `set_config`), which would hold for the changes of the events after it. */
  readonly alone: boolean;
}

/** An event that could not be prepared or committed. */
export interface Failed {
  readonly outcome: 'failed';
  readonly event: WorkableEvent;
  readonly error: unknown;
}

/** Asks the handler of an event, and turns its answer into the statements that complete the event. */
export async function prepare(
  event: WorkableEvent,
  tools: Tools,
  { handlers, handlerMs, random }: ConsumerDependencies,
): Promise<Prepared | Failed> {
  const { source, eventId } = event;
  try {
    const traced = { ...tools, fetch: fetchInTrace(tools.fetch, event.headers.traceparent, random) };
    const answer = await inTime(handlerMs, 'the handler', askHandler(event, handlers, traced));
    const { statements, effects } = answer.changes;
    if (new Set(effects.map(({ name }) => name)).size < effects.length) {
      throw new PermanentError('two effects have the same name, so the second would be lost: give each its own name');
    }
    return {
      outcome: 'prepared',
      event,
      completion: { source, eventId, status: answer.status, summary: answer.summary, statements, effects },
      effects: effects.map(({ name }) => ({ source, eventId, name })),
      alone: statements.some(({ sql }) => changesSettings(sql)),
    };
  } catch (error) {
    return { outcome: 'failed', event, error };
  }
}
