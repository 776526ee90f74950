import { parkDeadLetters } from './dead-letters.ts';
import type { ConsumerDependencies } from './dependencies.ts';
import { sendEffects } from './effects.ts';
import { workEvents } from './events.ts';
import { guardFetch } from './outside.ts';

/** The messages of a queue with an unknown name wait this long: until then somebody may have corrected the name. */
const UNKNOWN_QUEUE_WAIT_SECONDS = 3600;

/** One Worker consumes all four queues. Four variables in its wrangler file say which of them holds what. */
export function createConsumer(dependencies: ConsumerDependencies): ExportedHandler<ConsumerEnv> {
  return {
    async queue(batch, env) {
      guardFetch(env);
      switch (batch.queue) {
        case env.EVENTS_QUEUE:
          return workEvents(batch, env, dependencies);
        case env.EFFECTS_QUEUE:
          return sendEffects(batch, env, dependencies);
        case env.EVENTS_DEAD_QUEUE:
          return parkDeadLetters('events', batch, env, dependencies);
        case env.EFFECTS_DEAD_QUEUE:
          return parkDeadLetters('effects', batch, env, dependencies);
        default:
          dependencies.log({ step: 'configuration', outcome: 'unknown_queue', queue: batch.queue });
          batch.retryAll({ delaySeconds: UNKNOWN_QUEUE_WAIT_SECONDS });
      }
    },
  };
}
