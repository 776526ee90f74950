import { parkDeadLetters } from './dead-letters.ts';
import { workEffects } from './effects.ts';
import { workEvents } from './events.ts';
import type { ConsumerParts } from './parts.ts';

/** One Worker consumes every queue. A queue's name says what its messages are. */
export function createConsumer(parts: ConsumerParts): ExportedHandler<ConsumerEnv> {
  return {
    queue(batch, env) {
      if (batch.queue.includes('dead')) return parkDeadLetters(batch, env, parts);
      return batch.queue.includes('effects') ? workEffects(batch, env, parts) : workEvents(batch, env, parts);
    },
  };
}
