import type { EffectKey, EventKey } from '../db/keys.ts';

/** What is sent on the queues: the key of a claimed event, or of one of its effects. Never a body. */
export type Ticket = EventKey;
export type EffectTicket = EffectKey;

/**
 * Every message on the queues names the version of its format, because a receiver and a consumer of different versions
 * work side by side during every deploy. Raise it if the version before would misread a message. Messages from before
 * there were versions name none, and have the format of version 1.
 */
export const MESSAGE_VERSION = 1;

export function isTicket(message: unknown): message is Ticket {
  const ticket = message as Partial<Ticket> | null | undefined;
  return isKnownVersion(ticket) && isStorableText(ticket?.source) && isStorableText(ticket.eventId);
}

export function isKnownVersion(message: unknown): boolean {
  const version = versionOf(message);
  return version === undefined || version === MESSAGE_VERSION;
}

/** For the log line of a message that can't be read: says so if another version of the code has sent it. */
export function reasonUnreadable(message: unknown): { reason?: string } {
  const version = versionOf(message);
  if (isKnownVersion(message) || !Number.isSafeInteger(version)) return {};
  return { reason: `a message of version ${version}, and this Worker knows version ${MESSAGE_VERSION}` };
}

function versionOf(message: unknown): unknown {
  return (message as { readonly version?: unknown } | null | undefined)?.version;
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
