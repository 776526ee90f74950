import { openDatabase } from '../db/client.ts';
import { parkEffects } from '../db/effects.ts';
import { unpack } from '../queue/forwarded.ts';
import { isEffectTicket, isReconcileMessage, isTicket, reasonUnreadable } from '../queue/tickets.ts';
import type { ConsumerBindings, Message } from '../shared/runtime.ts';
import { parkAndWake } from './in-order.ts';
import { claimForwarded } from './messages.ts';
import { type Outcome, UNREADABLE } from './outcomes.ts';
import type { ConsumerDependencies, Portion, PortionOutcomes } from './portions.ts';

const POISON = {
  failure: 'poison',
  error:
    'the queue gave up: the ticket was delivered too often without an answer, as when a handler kills its isolate, or Postgres is away for days',
} as const;

/** 100 retries x 4 h exceed the queue's retention, so `max_retries` never deletes a message. */
const WAIT_SECONDS = 4 * 3600;

/**
 * Parks the events or effects whose tickets the queue gave up. A forwarded delivery is claimed instead: it is here
 * because Postgres was away for days, and nobody has tried it yet. The sweep sends its ticket. Tickets are parked together.
 * Any other message is settled alone and after them, because it may be what kills its isolate.
 */
export async function parkDeadLetters(
  kind: 'events' | 'effects',
  { messages }: Portion,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<PortionOutcomes> {
  const { now, log } = dependencies;
  const started = now();
  const db = openDatabase(env.DATABASE_URL);
  const bodies = messages.map(({ body }) => body);
  const isTicketOfKind = kind === 'effects' ? isEffectTicket : isTicket;
  const tickets = bodies.filter(isTicketOfKind);
  if (tickets.length > 0) {
    const parked =
      kind === 'effects'
        ? await parkEffects(db, tickets.filter(isEffectTicket), POISON)
        : await parkAndWake(tickets, POISON, db, env, dependencies);
    const ms = now().getTime() - started.getTime();
    for (const { source, eventId, ...effect } of parked) {
      const result = { outcome: 'parked', failure: POISON.failure, ms };
      log({ step: 'dead_letter', source, event_id: eventId, ...effect, ...result });
    }
  }
  const settled = new Map<Message, readonly Outcome[] | 'alone'>();
  for (const message of messages) {
    if (isTicketOfKind(message.body)) settled.set(message, []);
    else settled.set(message, messages.length > 1 ? 'alone' : await claimOrKeep(message));
  }
  return settled;

  async function claimOrKeep({ body }: Message): Promise<readonly Outcome[]> {
    // The next tick sends another.
    if (isReconcileMessage(body)) return [];
    const forwarded = await unpack(body);
    if (!forwarded) {
      log({ step: 'dead_letter', outcome: 'unreadable', ...reasonUnreadable(body) });
      return [UNREADABLE];
    }
    const { unreadable } = await claimForwarded(db, forwarded, log, 'dead_letter');
    return unreadable ? [UNREADABLE] : [];
  }
}

/**
 * A message that can't be read or claimed is kept until the queue's retention ends, with a log line at each try: it may hold
 * events that were answered 200, and a later version of this Worker may be able to read it.
 */
export function settleDeadLetter(message: Message, outcomes: readonly Outcome[]): void {
  if (outcomes.length === 0) message.ack();
  else message.retry({ delaySeconds: WAIT_SECONDS });
}
