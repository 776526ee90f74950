import { DatabaseError } from '../db/errors.ts';
import type { EffectKind, Handlers } from '../kit/index.ts';
import { isTicket } from '../queue/tickets.ts';
import type { Log, LogFields } from '../shared/log.ts';
import { backoff, type Judgement } from './judge.ts';

/** A consumer's code, clock and limits. Clock and randomness are parameters, so that a test can control them. */
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

/** How the work behind a ticket ended. */
export type Outcome =
  | { readonly outcome: 'done' | 'ignored' | 'sent' }
  /** There is no such row: it was pruned long ago, or the database was restored to an earlier state. */
  | { readonly outcome: 'not_found' }
  /** Neither a ticket nor a forwarded delivery for this version of the code. A later version may be able to read it. */
  | { readonly outcome: 'unreadable' }
  /** For a later batch: too large to load with this one, too late for this run, or failed before, so worked alone. */
  | { readonly outcome: 'deferred' }
  /** Another ticket of an event or an effect that waits for its next attempt. */
  | { readonly outcome: 'not_due'; readonly seconds: number }
  | Judgement;

/** A consumer is stopped after 15 minutes, and its acknowledgements are lost. So it stops by itself before that. */
const RUN_MS = 10 * 60_000;

/**
 * Divides a batch into portions. Messages that arrive for the first time are one portion. A message that was delivered
 * before may have killed its isolate, so it is worked alone: the most redelivered last, the others in random order, so
 * that a bad message is not always in front of the same others. If `work` throws a DatabaseError, the rest of the batch
 * is returned to the queue without another try.
 */
export async function workInPortions(
  batch: MessageBatch<unknown>,
  { now, random, log }: ConsumerDependencies,
  work: (messages: readonly Message[]) => Promise<void>,
): Promise<void> {
  const fresh = batch.messages.filter(({ attempts }) => attempts === 1);
  const redelivered = batch.messages
    .filter(({ attempts }) => attempts > 1)
    .map((message) => ({ message, order: message.attempts + random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ message }) => [message]);

  const started = now().getTime();
  let unavailable: DatabaseError | undefined;
  for (const messages of [fresh, ...redelivered]) {
    if (messages.length === 0) continue;
    const late = now().getTime() - started > RUN_MS;
    // Asking Postgres again for every message would take longer than a consumer may run.
    if (!late && !unavailable) unavailable = await databaseErrorOf(() => work(messages));
    const outcome = unavailable ? databaseUnavailable(unavailable) : late ? DEFERRED : undefined;
    if (outcome) for (const message of messages) acknowledge(message, [outcome], random());
  }
  if (unavailable) log({ step: 'batch', ...databaseUnavailable(unavailable) });
}

const DEFERRED: Outcome = { outcome: 'deferred' };

export function databaseUnavailable(error: unknown) {
  return { outcome: 'database_unavailable', reason: DatabaseError.from(error).message } as const;
}

/** Runs `work`, and returns the DatabaseError it throws, if any. */
export async function databaseErrorOf(work: () => Promise<void>): Promise<DatabaseError | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
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
    case 'database_unavailable':
      return { outcome: outcome.outcome, reason: outcome.reason };
    case 'done':
    case 'ignored':
    case 'sent':
    case 'already_finished':
    case 'not_found':
    case 'unreadable':
    case 'deferred':
    case 'not_due':
      return { outcome: outcome.outcome };
  }
}
