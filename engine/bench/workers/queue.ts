import { MESSAGE_VERSION } from '../../src/queue/tickets.ts';

// Replaces Cloudflare's queue: delivers tickets to the consumer in batches, and redelivers returned ones.

export interface Job {
  readonly events: number;
  readonly batch: number;
  readonly consumers: number;
  readonly deliveries: number;
}

/** A service binding, with the flag service_binding_extra_handlers. */
export interface Consumer {
  queue(
    name: string,
    messages: readonly Ticket[],
  ): Promise<{ outcome: string; explicitAcks: string[]; retryMessages: { msgId: string; delaySeconds?: number }[] }>;
}

interface Env {
  readonly CONSUMER: Consumer;
}

export interface Ticket {
  readonly id: string;
  readonly timestamp: Date;
  readonly attempts: number;
  readonly body: { readonly version: number; readonly source: string; readonly eventId: string };
}

/** How often an idle consumer checks whether a returned ticket is due. */
const IDLE_MS = 10;

let waiting: Ticket[] = [];
/** All tickets, including those that the consumer sends for the next event of an order key. */
let total = 0;

const ticketOf = (eventId: string, attempts: number): Ticket => {
  const body = { version: MESSAGE_VERSION, source: 'bench', eventId };
  return { id: String(total++), timestamp: new Date(), attempts, body };
};

export default {
  async fetch(request, env): Promise<Response> {
    const given = await request.json<Job | { messages: { body: string }[] }>();
    if ('messages' in given) {
      for (const { body } of given.messages) waiting.push(ticketOf(JSON.parse(atob(body)).eventId, 1));
      return Response.json({ metadata: { metrics: { backlogCount: 0, backlogBytes: 0 } } });
    }
    const { events, batch, consumers, deliveries } = given;
    total = 0;
    waiting = Array.from({ length: events }, (_, n) => ticketOf(`evt_${n}`, deliveries));
    let settled = 0;
    const consume = async () => {
      while (settled < total) {
        const tickets = waiting.splice(0, batch);
        if (tickets.length === 0) {
          await scheduler.wait(IDLE_MS);
          continue;
        }
        const { outcome, explicitAcks, retryMessages } = await env.CONSUMER.queue('events', tickets);
        if (outcome !== 'ok') throw new Error('a batch ended with an exception');
        settled += explicitAcks.length;
        for (const { msgId, delaySeconds = 0 } of retryMessages) {
          const ticket = tickets.find(({ id }) => id === msgId) as Ticket;
          const again = { ...ticket, attempts: ticket.attempts + 1 };
          setTimeout(() => waiting.push(again), delaySeconds * 1000);
        }
      }
    };
    await Promise.all(Array.from({ length: consumers }, consume));
    return new Response();
  },
} satisfies ExportedHandler<Env>;
