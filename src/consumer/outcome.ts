import { DatabaseError } from '../db/errors.ts';
import { isTicket } from '../queue/tickets.ts';
import { backoff } from './backoff.ts';
import type { Judgement } from './judge.ts';

/** How the work behind a ticket ended. */
export type Outcome =
  | { outcome: 'done' | 'ignored' | 'sent' }
  /** There is no such row: it was pruned long ago, or the database was restored to an earlier state. */
  | { outcome: 'not_found' }
  /** Neither a ticket nor a forwarded delivery for this version of the code. A later version may be able to read it. */
  | { outcome: 'unreadable' }
  /** For a later batch: too large to be loaded with this one, too late for this run, or failed before, so worked alone. */
  | { outcome: 'deferred' }
  /** Another ticket of an event that waits for its next attempt. */
  | { outcome: 'not_due'; seconds: number }
  | Judgement;

export function databaseUnavailable(error: unknown) {
  return { outcome: 'database_unavailable', reason: DatabaseError.from(error).message } as const;
}

/** By then Postgres has been away for hours. The ticket can be dropped, because the sweep sends another afterwards. */
const MAX_TICKET_DELIVERIES = 20;

/** Acknowledges a message, or asks for it again: after the longest wait that any of its outcomes needs. */
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

/** What the log line of an outcome says besides its key. */
export function fieldsOf(outcome: Outcome): { outcome: string; reason?: string; position?: string | undefined } {
  return {
    outcome: outcome.outcome,
    ...('reason' in outcome ? { reason: outcome.reason } : {}),
    ...('position' in outcome ? { position: outcome.position } : {}),
  };
}
