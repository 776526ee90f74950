import { createConsumer } from '../../../src/consumer/consumer.ts';
import { log } from '../../../src/shared/log.ts';
import { testEffects, testHandlers } from './handlers.ts';
import { mistakenHandlers } from './mistakes.ts';

/** The consumer, with handlers that fail in many ways. */
export default createConsumer({
  handlers: { test: testHandlers, mistakes: mistakenHandlers },
  sources: { test: { types: ['asked for'] }, mistakes: { types: [] } },
  effects: testEffects,
  now: () => new Date(),
  random: Math.random,
  log,
  handlerMs: 200,
  effectMs: 200,
});
