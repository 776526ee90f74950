import { DatabaseError } from '../db/errors.ts';
import type { EffectKind, Handlers, Source } from '../kit/index.ts';
import type { ReconcileMessage } from '../queue/tickets.ts';
import { errorFields, type Log, type LogLine } from '../shared/log.ts';
import type { ConsumerBindings, Message, MessageBatch } from '../shared/runtime.ts';
import { acknowledge, DEFERRED, databaseUnavailable, type Outcome } from './outcomes.ts';

/** A consumer's code, clock and limits. Clock and randomness are parameters, so that a test can control them. */
export interface ConsumerDependencies {
  readonly handlers: Handlers;
  /** Only what you subscribed to: an event of these types without a handler is a mistake. */
  readonly sources: Readonly<Record<string, Pick<Source, 'types' | 'orderKey' | 'tenants'>>>;
  readonly effects: Readonly<Record<string, EffectKind>>;
  readonly now: () => Date;
  /** In [0, 1), as Math.random. */
  readonly random: () => number;
  readonly log: Log;
  /** Time limit of a handler: its whole batch waits for it. */
  readonly handlerMs: number;
  /** Time limit of an effect. */
  readonly effectMs: number;
  /** Waits until the turn of a limited effect, at most a second. Only a test replaces it. */
  readonly sleep?: ((ms: number) => Promise<void>) | undefined;
  /** What `defineReconcile` returns. Only an app that uses it has its code in the bundle. */
  readonly reconcile?: Reconcile | undefined;
}

/** Asks the providers of some sources what they have sent, and claims what never arrived. */
export interface Reconcile {
  readonly sources: readonly string[];
  /** Works one message. It never throws. It returns the message with which the next run goes on, if there is more to do. */
  readonly run: (
    message: ReconcileMessage,
    env: ConsumerBindings,
    dependencies: Pick<ConsumerDependencies, 'now' | 'log'>,
  ) => Promise<ReconcileMessage | undefined>;
}

/** Messages that are worked together. */
export interface Portion {
  readonly messages: readonly Message[];
  /** An earlier run may have worked some of it: its messages were delivered before, or were a part of another portion. */
  readonly isAgain: boolean;
  /** Whether the run is so old that nothing more may be begun. */
  readonly isLate: () => boolean;
  /**
   * The time to note in Postgres when a group of redelivered messages is begun: so the next delivery knows whether this
   * one never ended. A first delivery needs no note: `attempts` says that it is one. A message alone can't harm another.
   */
  readonly begun: Date | undefined;
}

/** For each message of a portion the outcomes of the work behind it, or that it must be worked alone. */
export type PortionOutcomes = ReadonlyMap<Message, readonly Outcome[] | 'alone'>;

/** A consumer is stopped after 15 minutes, and its acknowledgements are lost. So nothing is begun that late. */
const RUN_MS = 10 * 60_000;

const FAULT = { outcome: 'error' } as const;

/**
 * Divides a batch into portions, and settles each message by what became of it: messages that arrive for the first time,
 * then those that were delivered before. The queue doesn't say why a message is redelivered: Postgres was away, or a
 * message killed the isolate. `work` finds out in Postgres, and says which messages must be worked alone. They come last,
 * the most redelivered at the end, and otherwise at random, so that a bad one is not always in front of the same others.
 *
 * If `work` throws a DatabaseError, the rest of the batch is returned to the queue without another try: asking Postgres
 * again for every message would take longer than a consumer may run. But a group that fails because of the size of its
 * data, or once more after a redelivery, may fail because of one message: then each is worked alone.
 */
export async function workInPortions(
  { messages: all }: Pick<MessageBatch, 'messages'>,
  { now, random, log }: ConsumerDependencies,
  work: (portion: Portion) => Promise<PortionOutcomes>,
  step: LogLine['step'] = 'batch',
  settle = acknowledge,
): Promise<void> {
  const started = now().getTime();
  const isLate = () => now().getTime() - started > RUN_MS;
  const alone: Message[] = [];
  let unavailable: Outcome | undefined;

  const tryToWork = async (messages: readonly Message[], isSecondTry: boolean): Promise<PortionOutcomes> => {
    const settled = (how: readonly Outcome[] | 'alone') => new Map(messages.map((message) => [message, how]));
    const reason = unavailable ?? (isLate() ? DEFERRED : undefined);
    if (reason) return settled([reason]);
    const isGroup = messages.length > 1;
    const isRedelivered = messages.every(({ attempts }) => attempts > 1);
    const isAgain = isRedelivered || isSecondTry;
    try {
      return await work({ messages, isAgain, isLate, begun: isGroup && isRedelivered ? now() : undefined });
    } catch (error) {
      // A mistake of ours. Thrown on, it would leave no line, and the queue would give the messages up within minutes.
      if (!(error instanceof DatabaseError)) {
        log({ step, ...FAULT, ...errorFields(error) });
        return settled(isGroup ? 'alone' : [FAULT]);
      }
      if (isGroup && (isRedelivered || error.isAboutData)) return settled('alone');
      const outcome = databaseUnavailable(error);
      if (!error.isAboutData) unavailable = outcome;
      log({ step, ...outcome });
      return settled([outcome]);
    }
  };
  const workPortion = async (messages: readonly Message[], isSecondTry = false) => {
    if (messages.length === 0) return;
    for (const [message, how] of await tryToWork(messages, isSecondTry)) {
      if (how === 'alone') alone.push(message);
      else settle(message, how, random());
    }
  };

  await workPortion(all.filter(({ attempts }) => attempts === 1));
  await workPortion(all.filter(({ attempts }) => attempts > 1));
  const last = alone
    .map((message) => ({ message, order: message.attempts + random() }))
    .sort((a, b) => a.order - b.order);
  for (const { message } of last) await workPortion([message], true);
}
