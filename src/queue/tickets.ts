import type { EffectKey, EventKey } from '../db/keys.ts';

/** What is sent on the queues: the key of a claimed event, or of one of its effects. Never a body. */
export type Ticket = EventKey;
export type EffectTicket = EffectKey;

export function isTicket(message: unknown): message is Ticket {
  const ticket = message as Partial<Ticket> | null;
  return typeof ticket?.source === 'string' && typeof ticket.eventId === 'string';
}

export function isEffectTicket(message: unknown): message is EffectTicket {
  return isTicket(message) && 'name' in message && typeof message.name === 'string';
}
