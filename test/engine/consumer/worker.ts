import { effects } from '../../../src/app/effects/index.ts';
import { handlers } from '../../../src/app/handlers/index.ts';
import { createConsumer } from '../../../src/consumer/worker.ts';
import { log } from '../../../src/log.ts';
import { testEffects, testHandlers } from './handlers.ts';

/** The consumer, with the sample app's handlers and a few that fail on purpose. */
export default createConsumer({
  handlers: { ...handlers, test: testHandlers },
  effects: { ...effects, ...testEffects },
  now: () => new Date(),
  random: Math.random,
  log,
  handlerMs: 200,
  effectMs: 200,
});
