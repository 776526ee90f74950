import type { EffectKey, EventKey } from '../db/keys.ts';
import { MAX_DELAY_SECONDS, type Queue } from '../shared/runtime.ts';
import { isStorableText } from '../shared/text.ts';
import { withTimeLimit } from '../shared/time-limit.ts';

/** A ticket contains only the key of a claimed event or of one of its effects, never a body. */
export type Ticket = EventKey;
export type EffectTicket = EffectKey;

/**
 * Every message contains the version of its format, because receivers and consumers of different versions run side by
 * side during a deploy. Raise it if the previous version would misread a message.
 */
export const MESSAGE_VERSION = 1;

/** The most messages that a queue accepts in one call. */
const MAX_BATCH = 100;

/** Give up on a slow queue after this time, because the provider waits for our answer. */
const SEND_TIMEOUT_MS = 1000;

/**
 * Resolves to true if the queue has written all tickets in time. A failure doesn't throw, because the events are in
 * Postgres, and the sweep resends the tickets of overdue events.
 */
export async function sendTickets(
  queue: Queue,
  tickets: readonly (Ticket & { readonly delaySeconds?: number })[],
): Promise<boolean> {
  if (tickets.length === 0) return true;
  const messages = tickets.map(({ delaySeconds = 0, ...key }) => ({
    body: { version: MESSAGE_VERSION, ...key },
    ...(delaySeconds > 0 && { delaySeconds: Math.min(delaySeconds, MAX_DELAY_SECONDS) }),
  }));
  // Send concurrently, so that a delivery with many events stays within the time limit of one call.
  const sending: Promise<unknown>[] = [];
  for (let n = 0; n < messages.length; n += MAX_BATCH) sending.push(queue.sendBatch(messages.slice(n, n + MAX_BATCH)));
  return isWritten(Promise.all(sending));
}

/** Whether a call to a queue succeeded in time. */
export async function isWritten(sending: Promise<unknown>): Promise<boolean> {
  const sent = sending.then(
    () => true,
    () => false,
  );
  return withTimeLimit(SEND_TIMEOUT_MS, sent, () => false);
}

/**
 * Asks the consumer to reconcile a source. An older consumer that can't read it leaves it on the queue, which
 * redelivers it.
 */
export interface ReconcileMessage {
  readonly reconcile: string;
  /** Set if a run has not reached the present. The next run continues with windows of this length. */
  readonly windowMs?: number;
  /**
   * While the key is not confirmed: the time up to which the API has listed no known event, and whether it has listed
   * anything.
   */
  readonly lookedUntil?: string;
  readonly hasListed?: boolean;
}

export function isReconcileMessage(message: unknown): message is ReconcileMessage {
  const { reconcile } = (message ?? {}) as Partial<ReconcileMessage>;
  return isKnownVersion(message) && isStorableText(reconcile);
}

/** If the queue doesn't accept them, the next tick sends new ones. */
export function sendReconciles(queue: Queue, messages: readonly ReconcileMessage[]): Promise<boolean> {
  return isWritten(queue.sendBatch(messages.map((message) => ({ body: { version: MESSAGE_VERSION, ...message } }))));
}

export function isTicket(message: unknown): message is Ticket {
  const ticket = message as Partial<Ticket> | null | undefined;
  return isKnownVersion(ticket) && isStorableText(ticket?.source) && isStorableText(ticket.eventId);
}

export function isEffectTicket(message: unknown): message is EffectTicket {
  return isTicket(message) && isStorableText(Reflect.get(message, 'name'));
}

export function isKnownVersion(message: unknown): boolean {
  return versionOf(message) === MESSAGE_VERSION;
}

/** The log field for an unreadable message, if another version of the code has sent it. */
export function reasonUnreadable(message: unknown): { reason?: string } {
  const version = versionOf(message);
  if (isKnownVersion(message) || !Number.isSafeInteger(version)) return {};
  return { reason: `the message has version ${version}, but this Worker reads version ${MESSAGE_VERSION}` };
}

export function versionOf(message: unknown): unknown {
  return (message as { readonly version?: unknown } | null | undefined)?.version;
}
