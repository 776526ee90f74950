import { isTicket } from '../queue/tickets.ts';
import { backoff } from './backoff.ts';
import type { Judgement } from './judge.ts';

/** What a ticket has come to. */
export type Result =
  | { outcome: 'done' | 'ignored' | 'sent' }
  /** Not in Postgres: pruned long ago, or the database was restored to an earlier state. */
  | { outcome: 'unknown' }
  /** Neither a ticket nor a forwarded delivery, as far as this version can tell. A later one may read it. */
  | { outcome: 'unreadable' }
  /** Too large to be loaded together with the rest of its batch, or too late for this run. */
  | { outcome: 'later' }
  /** A second ticket of what is to be tried again, but not yet. */
  | { outcome: 'early'; seconds: number }
  | Judgement;

/** By then Postgres has been away for hours. What a ticket stands for is in Postgres: the sweep will send another. */
const DELIVERIES_OF_A_WAITING_TICKET = 20;

/** Acks a message, or has it delivered again: after the longest wait that any of its results asks for. */
export function settle(message: Message, results: readonly Result[], random: number): void {
  const waits = results.map((result) => secondsToRetry(result, message, random)).filter((wait) => wait !== 'never');
  if (waits.length === 0) message.ack();
  else message.retry({ delaySeconds: Math.max(...waits) });
}

function secondsToRetry(result: Result, { body, attempts }: Message, random: number): number | 'never' {
  switch (result.outcome) {
    case 'done':
    case 'ignored':
    case 'sent':
    case 'already':
    case 'unknown':
    case 'parks':
      return 'never';
    case 'later':
      return 1;
    case 'early':
    case 'retries':
      return result.seconds;
    case 'unreadable':
      return backoff(attempts, random);
    case 'waits':
      return isTicket(body) && attempts >= DELIVERIES_OF_A_WAITING_TICKET ? 'never' : backoff(attempts, random);
  }
}
