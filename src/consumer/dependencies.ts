import type { EffectKind, Handlers } from '../kit/index.ts';
import type { Log } from '../log.ts';

/** What a consumer is built from. Clock and randomness are passed in, so that a test can control them. */
export interface ConsumerDependencies {
  readonly handlers: Handlers;
  readonly effects: Readonly<Record<string, EffectKind>>;
  readonly now: () => Date;
  /** In [0, 1), as Math.random. */
  readonly random: () => number;
  readonly log: Log;
  /** Time limit of a handler: its whole batch waits for it. */
  readonly handlerMs: number;
  /** Time limit of an effect. */
  readonly effectMs: number;
}
