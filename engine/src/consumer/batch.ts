import { DatabaseError } from '../db/errors.ts';
import type { EffectKind, Handlers, Source } from '../kit/index.ts';
import { isTicket } from '../queue/tickets.ts';
import { errorFields, type Log, type LogFields, type LogLine } from '../shared/log.ts';
import type { Message, MessageBatch } from '../shared/runtime.ts';
import { backoff, type Judgement } from './judge.ts';

/** A consumer's code, clock and limits. Clock and randomness are parameters, so that a test can control them. */
export interface ConsumerDependencies {
  readonly handlers: Handlers;
  /** Only what you subscribed to: an event of these types without a handler is a mistake. */
  readonly sources: Readonly<Record<string, Pick<Source, 'types'>>>;
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

/** How the work behind a ticket ended. */
export type Outcome =
  | { readonly outcome: 'done' | 'sent' }
  /** Nobody wants it. */
  | { readonly outcome: 'ignored'; readonly reason: string }
  /** There is no such row: it was pruned long ago, or the database was restored to an earlier state. */
  | { readonly outcome: 'not_found' }
  /** Neither a ticket nor a forwarded delivery for this version of the code. A later version may be able to read it. */
  | { readonly outcome: 'unreadable' }
  /** A mistake in the code of this Worker. A later version may have corrected it. */
  | { readonly outcome: 'error' }
  /** For a later batch: too large to load with this one, or too late for this run. */
  | { readonly outcome: 'deferred' }
  /** Another ticket of an event or an effect that waits for its next attempt. */
  | { readonly outcome: 'not_due'; readonly seconds: number }
  | Judgement;

/** A consumer is stopped after 15 minutes, and its acknowledgements are lost. So nothing is begun that late. */
const RUN_MS = 10 * 60_000;

/**
 * Divides a batch into portions: messages that arrive for the first time, then those that were delivered before. The
 * queue doesn't say why a message is redelivered: Postgres was away, or a message killed the isolate. `work` finds out in
 * Postgres, and returns the messages that must be worked alone, without settling them. They are worked last, the most
 * redelivered at the end, and otherwise at random, so that a bad one is not always in front of the same others.
 *
 * If `work` throws a DatabaseError, the rest of the batch is returned to the queue without another try: asking Postgres
 * again for every message would take longer than a consumer may run. But a group that fails because of the size of its
 * data, or once more after a redelivery, may fail because of one message: then each is worked alone.
 */
export async function workInPortions(
  batch: MessageBatch,
  { now, random, log }: ConsumerDependencies,
  work: (messages: readonly Message[], isLate: () => boolean) => Promise<readonly Message[]>,
  step: LogLine['step'] = 'batch',
  putBack = (message: Message, outcome: Outcome) => acknowledge(message, [outcome], random()),
): Promise<void> {
  const started = now().getTime();
  const isLate = () => now().getTime() - started > RUN_MS;
  let unavailable: Outcome | undefined;
  const workPortion = async (messages: readonly Message[]): Promise<readonly Message[]> => {
    if (messages.length === 0) return [];
    let outcome = unavailable ?? (isLate() ? DEFERRED : undefined);
    if (outcome === undefined) {
      try {
        return await work(messages, isLate);
      } catch (error) {
        // A mistake of ours. Thrown on, it would leave no line, and the queue would give the messages up within minutes.
        if (!(error instanceof DatabaseError)) {
          log({ step, ...FAULT, ...errorFields(error) });
          if (messages.length > 1) return messages;
          for (const message of messages) putBack(message, FAULT);
          return [];
        }
        const isAgain = messages.every(({ attempts }) => attempts > 1);
        if (messages.length > 1 && (isAgain || error.isAboutData)) return messages;
        outcome = databaseUnavailable(error);
        if (!error.isAboutData) unavailable = outcome;
        log({ step, ...outcome });
      }
    }
    for (const message of messages) putBack(message, outcome);
    return [];
  };
  const fresh = batch.messages.filter(({ attempts }) => attempts === 1);
  const redelivered = batch.messages.filter(({ attempts }) => attempts > 1);
  const alone = [...(await workPortion(fresh)), ...(await workPortion(redelivered))]
    .map((message) => ({ message, order: message.attempts + random() }))
    .sort((a, b) => a.order - b.order);
  for (const { message } of alone) await workPortion([message]);
}

/**
 * The time to note in Postgres when a group of redelivered messages is begun: so the next delivery knows whether this one
 * never ended. A first delivery needs no note: `attempts` says that it is one. A message alone can't harm another.
 */
export function beginningOf(messages: readonly Message[], now: Date): Date | undefined {
  return messages.length > 1 && messages.every(({ attempts }) => attempts > 1) ? now : undefined;
}

export const DEFERRED: Outcome = { outcome: 'deferred' };
const FAULT = { outcome: 'error' } as const;

export function databaseUnavailable(error: unknown) {
  return { outcome: 'database_unavailable', reason: DatabaseError.fromThrown(error).message } as const;
}

/** Postgres is back within seconds after a crash, and a deadlock is over at once. What lasts longer is an outage. */
const WAITS_MS = [1000, 2000, 4000];

/** Writes what became of some work. Without it, the work would be done again, so it is tried for some seconds. */
export async function record(write: () => Promise<void>): Promise<void> {
  for (const wait of WAITS_MS) {
    try {
      return await write();
    } catch (error) {
      if (!DatabaseError.fromThrown(error).retryable) throw error;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
  await write();
}

/**
 * How long an event or an effect must still wait: another ticket must neither shorten its wait nor use up its attempts.
 * A second is tolerated, because clocks differ.
 */
export function secondsUntilDue({ notBefore }: { readonly notBefore: Date | null }, now: Date): number {
  const seconds = ((notBefore ?? now).getTime() - now.getTime()) / 1000;
  return seconds > 1 ? Math.ceil(seconds) : 0;
}

/** By then Postgres has been away for hours. The ticket can be dropped, because the sweep sends another afterwards. */
const MAX_TICKET_DELIVERIES = 20;

/** Acknowledges a message, or asks for it again after the longest wait that any of its outcomes needs. */
export function acknowledge(message: Message, outcomes: readonly Outcome[], random: number): void {
  const waits = outcomes.map((outcome) => secondsToRetry(outcome, message, random)).filter((wait) => wait !== 'never');
  if (waits.length === 0) message.ack();
  else message.retry({ delaySeconds: Math.max(...waits) });
}

function secondsToRetry(outcome: Outcome, message: Message, random: number): number | 'never' {
  const { body, attempts: ticketDeliveries } = message;
  switch (outcome.outcome) {
    case 'done':
    case 'ignored':
    case 'sent':
    case 'parked':
    case 'already_finished':
    case 'not_found':
      return 'never';
    case 'deferred':
      return 1;
    case 'not_due':
    case 'retry':
      return outcome.seconds;
    case 'unreadable':
    case 'error':
      return backoff(ticketDeliveries, random);
    case 'database_unavailable':
      return isTicket(body) && ticketDeliveries >= MAX_TICKET_DELIVERIES ? 'never' : backoff(ticketDeliveries, random);
  }
}

/** The fields of an outcome's log line besides its key. */
export function fieldsOf(outcome: Outcome): LogFields {
  switch (outcome.outcome) {
    case 'retry':
    case 'parked': {
      const { failure, reason, position } = outcome;
      return { outcome: outcome.outcome, failure, reason, position };
    }
    case 'ignored':
    case 'database_unavailable':
      return { outcome: outcome.outcome, reason: outcome.reason };
    case 'done':
    case 'sent':
    case 'already_finished':
    case 'not_found':
    case 'unreadable':
    case 'error':
    case 'deferred':
    case 'not_due':
      return { outcome: outcome.outcome };
  }
}
