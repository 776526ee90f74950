import { openDatabase } from '../db/client.ts';
import { parkEffects } from '../db/effects.ts';
import { parkEvents } from '../db/events.ts';
import { unpack } from '../queue/forwarded.ts';
import { isEffectTicket, isTicket, reasonUnreadable } from '../queue/tickets.ts';
import { type ConsumerDependencies, databaseErrorOf } from './batch.ts';
import { claimForwarded } from './messages.ts';

const POISON = {
  failure: 'poison',
  error:
    'the queue gave up: the ticket was delivered too often without an answer, as when a handler kills its isolate, or Postgres is away for days',
} as const;

/** 100 retries x 4 h exceed the queue's retention, so `max_retries` never deletes a message. */
const WAIT_SECONDS = 4 * 3600;

/**
 * Parks the events or effects whose tickets the queue gave up. A forwarded delivery is claimed instead: it is here
 * because Postgres was away for days, and nobody has tried it yet. The sweep sends its ticket. A message that can't be
 * read or claimed is kept until the queue's retention ends, with a log line at each try: it may hold events that were
 * answered 200, and a later version of this Worker may be able to read it. Each message is settled on its own, so that
 * a bad one delays no other.
 */
export async function parkDeadLetters(
  kind: 'events' | 'effects',
  batch: MessageBatch<unknown>,
  env: ConsumerEnv,
  { now, log }: ConsumerDependencies,
): Promise<void> {
  let unavailable: string | undefined;
  /** `work` resolves to whether the messages have been dealt with. */
  const settle = async (messages: readonly Message[], work: () => Promise<boolean>) => {
    let settled = false;
    // Asking Postgres again for every message would take longer than a consumer may run.
    unavailable ??= (
      await databaseErrorOf(async () => {
        settled = await work();
      })
    )?.message;
    for (const message of messages) {
      if (settled) message.ack();
      else message.retry({ delaySeconds: WAIT_SECONDS });
    }
  };

  const isOurTicket = kind === 'effects' ? isEffectTicket : isTicket;
  const tickets = batch.messages.filter(({ body }) => isOurTicket(body));
  await settle(tickets, async () => {
    const started = now();
    const db = openDatabase(env.DATABASE_URL);
    const keys = tickets.map(({ body }) => body);
    const parked =
      kind === 'effects'
        ? await parkEffects(db, keys.filter(isEffectTicket), POISON)
        : await parkEvents(db, keys.filter(isTicket), POISON, started);
    const ms = now().getTime() - started.getTime();
    for (const { source, eventId, ...effect } of parked) {
      const result = { outcome: 'parked', failure: POISON.failure, ms };
      log({ step: 'dead_letter', source, event_id: eventId, ...effect, ...result });
    }
    return true;
  });
  for (const message of batch.messages.filter(({ body }) => !isOurTicket(body))) {
    await settle([message], async () => {
      const forwarded = await unpack(message.body);
      if (!forwarded) {
        log({ step: 'dead_letter', outcome: 'unreadable', ...reasonUnreadable(message.body) });
        return false;
      }
      const { unreadable } = await claimForwarded(openDatabase(env.DATABASE_URL), forwarded, log, 'dead_letter');
      return !unreadable;
    });
  }
  if (unavailable) log({ step: 'dead_letter', outcome: 'database_unavailable', reason: unavailable });
}
