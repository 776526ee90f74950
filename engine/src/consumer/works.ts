import { isWorkable, type LoadedEvent } from '../db/events.ts';
import { type EventKey, keyText } from '../db/keys.ts';
import type { EventAnswer } from './commit.ts';
import type { FailureOutcome } from './judge.ts';
import { ALREADY_FINISHED, DEFERRED, NOT_FOUND, type Outcome, secondsUntilDue } from './outcomes.ts';

/** An event that messages want worked, and its outcome so far. */
export interface Work extends EventKey, Pick<EventAnswer, 'result' | 'failure'> {
  event?: LoadedEvent;
  /** `alone`: it must be worked without the other messages. */
  outcome: Outcome | 'alone';
  /** Why its ticket must come again, even if the event is finished. */
  again?: Outcome;
}

/** All work of a portion. Two tickets of one event are one piece of work. */
export class Works {
  readonly #byKey = new Map<string, Work>();

  of({ source, eventId }: EventKey): Work {
    const key = keyText({ source, eventId });
    const work = this.#byKey.get(key) ?? { source, eventId, outcome: NOT_FOUND };
    this.#byKey.set(key, work);
    return work;
  }

  all(): Work[] {
    return [...this.#byKey.values()];
  }
}

/**
 * Why an event can't be worked now, if it can't. In a group, those that may harm the others are not worked: those that have
 * failed before, which may hang again until their time limit, and those whose last group never ended.
 */
export function obstacleTo(event: LoadedEvent, isGroup: boolean, now: Date): Work['outcome'] | undefined {
  if (event.status !== 'pending') return ALREADY_FINISHED;
  if (!event.hasBody) return BODY_GONE;
  const seconds = secondsUntilDue(event, now);
  if (seconds > 0) return { outcome: 'not_due', seconds };
  if (isGroup && (event.attempts > 0 || event.failingSince || event.neverEnded)) return 'alone';
  return isWorkable(event) ? undefined : DEFERRED;
}

export const BODY_GONE: FailureOutcome = {
  outcome: 'parked',
  seconds: 0,
  failure: 'body_gone',
  failedPaths: null,
  error: 'the body of this event is gone, so its handler cannot be run',
  reason: 'body gone',
  position: undefined,
};
