import { AsyncLocalStorage } from 'node:async_hooks';
import { createConsumer } from '../../src/consumer/consumer.ts';
import { defineHandler, type Handler, RetryLater } from '../../src/kit/index.ts';
import { log } from '../../src/shared/log.ts';
import { charged, effects } from '../fixture/handlers.ts';
import { sources } from '../fixture/sources.ts';

/** The share of runs of a handler that fail. Twelve failures in a row are practically impossible. */
const FAILURES = 0.15;

/** A handler that fails at random. */
function unreliable(handler: Handler): Handler {
  return {
    ...handler,
    handle(event, tools) {
      const chance = Math.random();
      if (chance < FAILURES / 2) throw new Error('at random');
      if (chance < FAILURES) throw new RetryLater(1);
      return handler.handle(event, tools);
    },
  };
}

/** Of the batch that is worked: several may be worked at the same time. */
const batches = new AsyncLocalStorage<PromiseWithResolvers<never>>();

/** Fails the whole batch, like a handler that uses up the isolate's memory or CPU time. */
const kills = defineHandler({
  handle() {
    batches.getStore()?.reject(new Error('the isolate is gone'));
    return new Promise<never>(() => {});
  },
});

const consumer = createConsumer({
  handlers: {
    stripe: { 'charge.succeeded': unreliable(charged) },
    standardwebhooks: { 'charge.succeeded': unreliable(charged) },
    github: { push: unreliable(charged) },
    awardee: { kills },
  },
  sources,
  effects,
  now: () => new Date(),
  // Waits of about a second after any number of failures, but with an order that varies.
  random: () => 0.9995 + Math.random() * 0.0005,
  log,
  handlerMs: 30_000,
  effectMs: 10_000,
});

export default {
  ...consumer,
  queue(batch, env) {
    const dying = Promise.withResolvers<never>();
    return batches.run(dying, () => Promise.race([consumer.queue(batch, env), dying.promise]));
  },
} satisfies ExportedHandler<ConsumerEnv>;
