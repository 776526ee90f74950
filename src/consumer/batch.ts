import { DatabaseError } from '../db/errors.ts';
import type { ConsumerDependencies } from './dependencies.ts';
import { acknowledge, databaseUnavailable, type Outcome } from './outcome.ts';

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
    // To ask Postgres again for every message would take longer than a consumer may run.
    if (!late && !unavailable) unavailable = await databaseErrorOf(() => work(messages));
    const outcome = unavailable ? databaseUnavailable(unavailable) : late ? DEFERRED : undefined;
    if (outcome) for (const message of messages) acknowledge(message, [outcome], random());
  }
  if (unavailable) log({ step: 'batch', ...databaseUnavailable(unavailable) });
}

const DEFERRED: Outcome = { outcome: 'deferred' };

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
