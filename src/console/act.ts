import type { Database } from '../db/client.ts';
import { discardParked } from '../db/discard.ts';
import type { EventFilter } from '../db/filter.ts';
import type { Action, Operated } from '../db/operate.ts';
import { rerunFinished } from '../db/rerun.ts';
import { retryParked } from '../db/retry.ts';
import type { Log } from '../log.ts';
import { sendTickets } from '../queue/send.ts';

export const ACTIONS = ['retry', 'discard', 'rerun'] as const;
export type ActionName = (typeof ACTIONS)[number];

export interface Order {
  readonly action: ActionName;
  readonly filter: EventFilter;
  readonly expected?: number | undefined;
  /** Needed to discard. It is all that will be left to say why. */
  readonly reason?: string | undefined;
  /** For a rerun: send the effects again as well. */
  readonly effects: boolean;
}

export function isAction(text: string): text is ActionName {
  return (ACTIONS as readonly string[]).includes(text);
}

/** Does what an operator orders, and sends the tickets at once. */
export async function act(
  db: Database,
  order: Order,
  { env, who, now, log }: { env: ReceiverEnv; who: string; now: Date; log: Log },
): Promise<Operated> {
  const by = { at: now, who };
  const operated = await change(db, order, by);
  if (operated.outcome === 'unexpected') return operated;
  const { events, effects, eventKeys, effectKeys } = operated;
  // A discard leaves nothing to work on. The sweep sends the tickets that the queue doesn't take.
  const sent =
    order.action === 'discard' || ((await sendAll(env.EVENTS, eventKeys)) && (await sendAll(env.EFFECTS, effectKeys)));
  log({ step: 'operator', outcome: order.action, events, effects, tickets: sent ? 'sent' : 'not_sent' });
  return operated;
}

function change(db: Database, order: Order, by: Pick<Action, 'at' | 'who'>): Promise<Operated> {
  const { filter, expected, reason, effects } = order;
  switch (order.action) {
    case 'retry':
      return retryParked(db, { filter, expected, action: { ...by, action: 'retry', reason } });
    case 'discard':
      return discardParked(db, { filter, expected, action: { ...by, action: 'discard', reason: reason ?? '' } });
    case 'rerun':
      return rerunFinished(db, {
        filter,
        expected,
        sendEffectsAgain: effects,
        action: { ...by, action: 'rerun', reason },
      });
  }
}

/** Ten calls of a queue at the same time: a queue takes 5,000 messages in a second. */
const TICKETS_AT_ONCE = 1000;

async function sendAll<Ticket extends { source: string; eventId: string }>(
  queue: Queue,
  tickets: readonly Ticket[],
): Promise<boolean> {
  for (let from = 0; from < tickets.length; from += TICKETS_AT_ONCE) {
    if (!(await sendTickets(queue, tickets.slice(from, from + TICKETS_AT_ONCE)))) return false;
  }
  return true;
}
