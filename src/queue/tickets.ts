import type { EffectKey, EventKey } from '../db/keys.ts';

/** What is sent on the queues: the key of a claimed event, or of one of its effects. Never a body. */
export type Ticket = EventKey;
export type EffectTicket = EffectKey;

export function isTicket(message: unknown): message is Ticket {
  const ticket = message as Partial<Ticket> | null | undefined;
  return isStorableText(ticket?.source) && isStorableText(ticket.eventId);
}

export function isEffectTicket(message: unknown): message is EffectTicket {
  return isTicket(message) && 'name' in message && isStorableText(message.name);
}

/**
 * Postgres can't store NUL, and Neon can't parse a request with half a character (a lone surrogate). One such text in a
 * query over a whole batch would make the query fail for all of them.
 */
export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

/** Postgres and JavaScript agree on the years 1 to 9999. Postgres can't even read most of the others. */
export function isStorableTime(time: Date): boolean {
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999;
}
