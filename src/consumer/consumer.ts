import type { ConsumerDependencies } from './batch.ts';
import { tick } from './cron.ts';
import { parkDeadLetters } from './dead-letters.ts';
import { sendEffects } from './send-effects.ts';
import { workEvents } from './work.ts';

/** The messages of a queue with an unknown name wait this long: until then somebody may have corrected the name. */
const UNKNOWN_QUEUE_WAIT_SECONDS = 3600;

/** One Worker for all background work: the four queues, which variables in its wrangler file name, and the cron. */
export function createConsumer(dependencies: ConsumerDependencies): ExportedHandler<ConsumerEnv> {
  return {
    async queue(batch, env) {
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
    async scheduled(controller, env) {
      await tick(env, new Date(controller.scheduledTime), dependencies.log);
    },
  };
}
