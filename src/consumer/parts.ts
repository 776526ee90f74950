import type { EffectKind, Handlers } from '../kit/index.ts';
import type { Log } from '../log.ts';

/** What the consumer is put together from. Clock and chance are parts, so that a test can hold them. */
export interface ConsumerParts {
  readonly handlers: Handlers;
  readonly effects: Readonly<Record<string, EffectKind>>;
  readonly now: () => Date;
  /** In [0, 1), as Math.random. */
  readonly random: () => number;
  readonly log: Log;
  /** A handler that needs longer holds up its whole batch. */
  readonly handlerMs: number;
  /** The other side of an effect has this long to answer. */
  readonly effectMs: number;
}
