import { createConsumer } from '../../src/consumer/consumer.ts';
import { log } from '../../src/shared/log.ts';
import { testEffects, testHandlers } from './handlers.ts';
import { mistakenHandlers } from './mistakes.ts';

/** Of effects. Long, so that a slow machine doesn't decide what fails. A test of what hangs makes it short. */
export const limits = { ms: 30_000 };

/** The consumer, with handlers that fail in many ways. */
export default createConsumer({
  handlers: { test: testHandlers, mistakes: mistakenHandlers },
  sources: { test: { types: ['asked for'] }, mistakes: { types: [] } },
  effects: testEffects,
  now: () => new Date(),
  random: Math.random,
  log,
  handlerMs: 30_000,
  get effectMs() {
    return limits.ms;
  },
});
