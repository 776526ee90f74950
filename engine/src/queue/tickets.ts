import type { EffectKey, EventKey } from '../db/keys.ts';
import { MAX_DELAY_SECONDS, type Queue } from '../shared/runtime.ts';
import { isStorableText } from '../shared/text.ts';
import { withTimeLimit } from '../shared/time-limit.ts';

/** What is sent on the queues: the key of a claimed event, or of one of its effects. Never a body. */
export type Ticket = EventKey;
export type EffectTicket = EffectKey;

/**
 * Every message on the queues names the version of its format, because a receiver and a consumer of different versions
 * work side by side during every deploy. Raise it if the version before would misread a message.
 */
export const MESSAGE_VERSION = 1;

/** The most messages that a queue takes in one call. */
const MAX_BATCH = 100;

/** Give up on a slow queue after this time, because the provider waits for our answer. */
const SEND_TIMEOUT_MS = 1000;

/**
 * Resolves to true if the queue has written all tickets in time. A failure is not an error: the events are in Postgres,
 * and the sweep sends the tickets of overdue events again.
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
  // At the same time, so that a delivery of many events stays within the time limit of one call.
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

/** Asks the consumer to reconcile a source. A version that doesn't know it leaves it unread, and it comes again. */
export interface ReconcileMessage {
  readonly reconcile: string;
  /** Set if a run has not reached the present: the next one goes on with windows of this length. */
  readonly windowMs?: number;
  /** While the key is not confirmed: up to where nothing that is known was listed, and whether anything was listed at all. */
  readonly lookedUntil?: string;
  readonly hasListed?: boolean;
}

export function isReconcileMessage(message: unknown): message is ReconcileMessage {
  const { reconcile } = (message ?? {}) as Partial<ReconcileMessage>;
  return isKnownVersion(message) && isStorableText(reconcile);
}

/** If the queue doesn't take them, the next tick sends others. */
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

/** For the log line of a message that can't be read: says so if another version of the code has sent it. */
export function reasonUnreadable(message: unknown): { reason?: string } {
  const version = versionOf(message);
  if (isKnownVersion(message) || !Number.isSafeInteger(version)) return {};
  return { reason: `a message of version ${version}, and this Worker knows version ${MESSAGE_VERSION}` };
}

export function versionOf(message: unknown): unknown {
  return (message as { readonly version?: unknown } | null | undefined)?.version;
}
