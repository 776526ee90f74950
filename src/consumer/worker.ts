import { parkDeadLetters } from './dead-letters.ts';
import { type ConsumerParts, workEvents } from './events.ts';

/** One Worker consumes every queue; a queue's name says what its messages are. */
export function createConsumer(parts: ConsumerParts): ExportedHandler<ConsumerEnv> {
  return {
    queue: (batch, env) =>
      batch.queue.endsWith('-dead') ? parkDeadLetters(batch, env, parts) : workEvents(batch, env, parts),
  };
}
