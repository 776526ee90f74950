import type { EffectKind, Handlers, Source } from '../kit/index.ts';
import { log } from '../shared/log.ts';
import { createConsumer } from './consumer.ts';
import type { Reconcile } from './portions.ts';

/**
 * What the consumer is given.
 *
 * @example
 * const options: ConsumerOptions = { sources, handlers, effects };
 */
export interface ConsumerOptions {
  readonly sources: Readonly<Record<string, Source>>;
  readonly handlers: Handlers;
  readonly effects: Readonly<Record<string, EffectKind>>;
  /** What `defineReconcile` of `claimcheck/reconcile` returns. */
  readonly reconcile?: Reconcile;
}

/**
 * The consumer Worker: it works the four queues, and its cron.
 *
 * @example
 * export default consumer({ sources, handlers, effects });
 */
export function consumer(options: ConsumerOptions) {
  return createConsumer({
    ...options,
    now: () => new Date(),
    random: Math.random,
    log,
    handlerMs: 30_000,
    effectMs: 10_000,
  });
}
