import { DatabaseError } from '../db/errors.ts';
import type { ConsumerParts } from './parts.ts';
import { settle } from './settle.ts';

/** A consumer is ended after 15 minutes, and what it wanted acked or delayed is forgotten: it stops in time. */
const RUN_MS = 10 * 60_000;

/**
 * Hands a batch out in portions. Messages that come for the first time are one group. One that comes again may have
 * killed its isolate, and is handed out alone: the most retried last, the rest in no fixed order, so that nobody
 * stands behind such a one every time. What `work` throws is taken for Postgres being away: the rest waits unasked.
 */
export async function inPortions(
  batch: MessageBatch<unknown>,
  { now, random, log }: ConsumerParts,
  work: (messages: readonly Message[]) => Promise<void>,
): Promise<void> {
  const fresh = batch.messages.filter(({ attempts }) => attempts === 1);
  const again = batch.messages
    .filter(({ attempts }) => attempts > 1)
    .map((message) => ({ message, order: message.attempts + random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ message }) => [message]);

  const started = now().getTime();
  let away: DatabaseError | undefined;
  for (const messages of [fresh, ...again]) {
    if (messages.length === 0) continue;
    const late = now().getTime() - started > RUN_MS;
    // Asking Postgres again for every message would take longer than a consumer may run.
    if (!late && !away) away = await failureOf(work(messages));
    const left = away ? waits(away) : late ? LATE : undefined;
    if (left) for (const message of messages) settle(message, [left], random());
  }
  if (away) log({ at: 'consumer', outcome: 'waits', reason: away.message });
}

const LATE = { outcome: 'later' } as const;

function waits({ message }: DatabaseError) {
  return { outcome: 'waits', reason: message } as const;
}

async function failureOf(work: Promise<void>): Promise<DatabaseError | undefined> {
  try {
    await work;
    return undefined;
  } catch (error) {
    if (error instanceof DatabaseError) return error;
    throw error;
  }
}
