import { createConsumer } from '../../../src/consumer/worker.ts';
import { log } from '../../../src/log.ts';
import { testEffects, testHandlers } from './handlers.ts';

/** The consumer, with handlers that fail in all the ways that handlers fail. */
export default createConsumer({
  handlers: { test: testHandlers },
  effects: testEffects,
  now: () => new Date(),
  random: Math.random,
  log,
  handlerMs: 200,
  effectMs: 200,
});
