import { MESSAGE_VERSION } from '../../src/queue/tickets.ts';

// The place of Cloudflare's queue: delivers tickets to the consumer in batches, and delivers again what it returns.

export interface Job {
  readonly events: number;
  readonly batch: number;
  readonly consumers: number;
  readonly deliveries: number;
}

/** How the consumer has answered. */
export interface Delivered {
  readonly batches: number;
  readonly acked: number;
  readonly retried: number;
  /** Batches that ended with an exception. */
  readonly failed: number;
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

/** How often a consumer without work looks whether a returned ticket is due. */
const IDLE_MS = 10;

export default {
  async fetch(request, env): Promise<Response> {
    const { events, batch, consumers, deliveries }: Job = await request.json();
    const delivered = { batches: 0, acked: 0, retried: 0, failed: 0 };
    const returned: { ticket: Ticket; due: number }[] = [];
    let next = 0;
    let settled = 0;
    const take = (): Ticket[] => {
      const tickets: Ticket[] = [];
      for (; tickets.length < batch && next < events; next++) {
        const body = { version: MESSAGE_VERSION, source: 'bench', eventId: `evt_${next}` };
        tickets.push({ id: String(next), timestamp: new Date(), attempts: deliveries, body });
      }
      for (let at = 0; at < returned.length && tickets.length < batch; ) {
        if ((returned[at]?.due ?? 0) > Date.now()) at++;
        else tickets.push(...returned.splice(at, 1).map(({ ticket }) => ticket));
      }
      return tickets;
    };
    const consume = async () => {
      while (settled < events) {
        const tickets = take();
        if (tickets.length === 0) {
          await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
          continue;
        }
        const { outcome, explicitAcks, retryMessages } = await env.CONSUMER.queue('events', tickets);
        delivered.batches++;
        delivered.acked += explicitAcks.length;
        delivered.retried += retryMessages.length;
        if (outcome !== 'ok') delivered.failed++;
        settled += explicitAcks.length;
        const byId = new Map(tickets.map((ticket) => [ticket.id, ticket]));
        for (const { msgId, delaySeconds = 0 } of retryMessages) {
          const ticket = byId.get(msgId);
          if (ticket === undefined) throw new Error(`an unknown ticket was returned: ${msgId}`);
          returned.push({
            ticket: { ...ticket, attempts: ticket.attempts + 1 },
            due: Date.now() + delaySeconds * 1000,
          });
        }
      }
    };
    await Promise.all(Array.from({ length: consumers }, consume));
    return Response.json(delivered satisfies Delivered);
  },
} satisfies ExportedHandler<Env>;
