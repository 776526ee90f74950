import { effects } from '../app/effects/index.ts';
import { handlers } from '../app/handlers/index.ts';
import { sources } from '../app/sources.ts';
import { log } from '../shared/log.ts';
import { createConsumer } from './consumer.ts';

export default createConsumer({
  handlers,
  sources,
  effects,
  now: () => new Date(),
  random: Math.random,
  log,
  handlerMs: 30_000,
  effectMs: 10_000,
});
