import { DatabaseError } from '../db/errors.ts';
import { isTicket } from '../queue/tickets.ts';
import type { LogFields } from '../shared/log.ts';
import type { Message } from '../shared/runtime.ts';
import { backoff, type Judgement } from './judge.ts';

/** How the work behind a ticket ended. */
export type Outcome =
  | { readonly outcome: 'done' | 'sent' }
  /** An effect that a handler has taken back. */
  | { readonly outcome: 'cancelled' }
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
  /** An effect whose kind or host is paused, or limited. Somebody sends its next ticket. */
  | { readonly outcome: 'held'; readonly reason: string }
  | Judgement;

export const ALREADY_FINISHED: Outcome = { outcome: 'already_finished' };
export const DEFERRED: Outcome = { outcome: 'deferred' };
export const NOT_ITS_TURN: Outcome = { outcome: 'not_its_turn' };
export const NOT_FOUND: Outcome = { outcome: 'not_found' };
export const UNREADABLE: Outcome = { outcome: 'unreadable' };

export function databaseUnavailable(error: unknown) {
  return { outcome: 'database_unavailable', reason: DatabaseError.fromThrown(error).message } as const;
}

/**
 * How long an event or an effect must still wait: another ticket must neither shorten its wait nor use up its attempts.
 * A second is tolerated, because clocks differ.
 */
export function secondsUntilDue({ notBefore }: { readonly notBefore: Date | null }, now: Date): number {
  const seconds = ((notBefore ?? now).getTime() - now.getTime()) / 1000;
  return seconds > 1 ? Math.ceil(seconds) : 0;
}

/** Postgres is back within seconds after a crash, and a deadlock is over at once. What lasts longer is an outage. */
const WAITS_MS = [1000, 2000, 4000];

/** Writes what became of some work. Without it, the work would be done again, so it is tried for some seconds. */
export async function record<Result>(write: () => Promise<Result>): Promise<Result> {
  for (const wait of WAITS_MS) {
    try {
      return await write();
    } catch (error) {
      if (!DatabaseError.fromThrown(error).retryable) throw error;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
  return write();
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
    case 'cancelled':
    case 'parked':
    case 'already_finished':
    case 'not_its_turn':
    case 'not_found':
    // These get tickets of their own: the queue counts how often it brings a ticket again, and gives it up at last.
    case 'held':
    case 'waiting':
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
export function outcomeFields(outcome: Outcome): LogFields {
  switch (outcome.outcome) {
    case 'retry':
    case 'waiting':
    case 'parked': {
      const { failure, reason, position } = outcome;
      return { outcome: outcome.outcome, failure, reason, position };
    }
    case 'ignored':
    case 'held':
    case 'database_unavailable':
      return { outcome: outcome.outcome, reason: outcome.reason };
    case 'done':
    case 'sent':
    case 'cancelled':
    case 'already_finished':
    case 'not_its_turn':
    case 'not_found':
    case 'unreadable':
    case 'error':
    case 'deferred':
    case 'not_due':
      return { outcome: outcome.outcome };
  }
}
