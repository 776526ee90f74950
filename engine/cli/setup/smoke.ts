import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { handlerOf } from '../../src/consumer/find-handler.ts';
import type { Handlers, Source } from '../../src/kit/index.ts';
import { UserError } from '../lib/user-error.ts';
import { eventsIn, makeDelivery, type SignedDelivery } from '../samples/delivery.ts';

/** No handler takes events of this type, so the consumer only marks them as `ignored`. */
const TYPE = 'setup.check';

/** What a delivery of ours is made of. */
export interface DeliveryOptions {
  readonly sources: Readonly<Record<string, Source>>;
  readonly handlers: Handlers;
  /** What each source's sender signs with, as far as it is known. */
  readonly keys: Readonly<Record<string, string>>;
  /** The receiver's address. */
  readonly receiver: string;
}

interface SmokeOptions extends DeliveryOptions {
  /** Of the owner. */
  readonly client: pg.Client;
  /** A new address needs a minute until every part of Cloudflare knows it. */
  readonly patienceMs?: number;
}

/** The last delivery of ours that the consumer has ignored, as it should, and when. */
export async function lastSmoke(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query<{ source: string; time: string }>(
    `select source, to_char(finished_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as time from webhooks.events
     where type like $1 and status = 'ignored' order by received_at desc limit 1`,
    [`${TYPE}%`],
  );
  return rows[0] && `${rows[0].source}, ${rows[0].time} UTC`;
}

/** The sources whose senders have delivered something. Deliveries of ours don't count. */
export async function sourcesHeardOf(client: pg.Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ source: string }>(
    `select distinct source from webhooks.events where type is null or type not like $1`,
    [`${TYPE}%`],
  );
  return rows.map(({ source }) => source);
}

/** Sends a signed delivery on the way of every delivery, and says how long it took. `undefined`: no source can sign one. */
export async function smoke(options: SmokeOptions): Promise<string | undefined> {
  const { client, patienceMs = 90_000 } = options;
  const made = await firstDelivery(options);
  if (!made) return undefined;
  const { source, delivery, eventId } = made;
  const start = Date.now();
  const isOver = () => Date.now() - start > patienceMs;
  await untilAccepted(delivery, isOver);
  const answeredMs = Date.now() - start;
  for (;;) {
    const { rows } = await client.query<{ status: string; failure: string | null; last_error: string | null }>(
      'select status, failure, last_error from webhooks.events where source = $1 and event_id = $2',
      [source, eventId],
    );
    const [event] = rows;
    if (event?.status === 'ignored') {
      const ignoredMs = Date.now() - start - answeredMs;
      return `signed as ${source}: 200 after ${answeredMs} ms, ignored by the consumer ${ignoredMs} ms later`;
    }
    if (event && event.status !== 'pending') {
      throw new UserError(
        `leg 3, the consumer: the event is ${event.status} (${event.failure}: ${event.last_error}). Look at npx wrangler tail of the consumer`,
      );
    }
    if (isOver()) {
      throw new UserError(
        event
          ? 'leg 3, the queue and the consumer: the event is in the ledger, and still pending. Look at npx wrangler queues info of the events queue, and at npx wrangler tail of the consumer'
          : 'leg 2, the ledger: the receiver has answered 200, and this database has no such event. Does the secret DATABASE_URL of the receiver lead to another?',
      );
    }
    await sleep(250);
  }
}

/** A signed delivery of an event that no handler takes. `undefined`: no source whose key is known can sign one. */
export async function firstDelivery(
  options: DeliveryOptions,
): Promise<{ source: string; delivery: SignedDelivery; eventId: string } | undefined> {
  const { sources, handlers, keys, receiver } = options;
  for (const [name, source] of Object.entries(sources)) {
    const key = keys[name];
    if (key === undefined) continue;
    try {
      const delivery = makeDelivery({ name, source, key, receiver, type: TYPE });
      const [event] = await eventsIn(source, delivery);
      const isTaken = handlerOf({ source: name, type: event?.type ?? '' }, handlers) !== undefined;
      if (event?.type?.startsWith(TYPE) && !isTaken) return { source: name, delivery, eventId: event.eventId };
    } catch (error) {
      // A public key can't sign. Perhaps another source can.
      if (!(error instanceof UserError)) throw error;
    }
  }
  return undefined;
}

async function untilAccepted({ url, headers, body }: SignedDelivery, isOver: () => boolean): Promise<void> {
  for (;;) {
    const response = await fetch(url, { method: 'POST', headers, body, signal: AbortSignal.timeout(20_000) }).catch(
      (error: Error) => error,
    );
    if (response instanceof Response && response.ok) return;
    if (isOver()) throw new UserError(`leg 1, the receiver at ${new URL(url).host}: ${adviceFor(response)}`);
    await sleep(1000);
  }
}

function adviceFor(response: Response | Error): string {
  if (response instanceof Error)
    return `no answer (${response.name}). A new workers.dev address needs some minutes: run this again`;
  switch (response.status) {
    case 401:
      return '401: the secret is not the one that the receiver has. Put it again: npx wrangler secret put <SOURCE>_WEBHOOK_SECRET';
    case 404:
      return '404: nothing is there yet, or Cloudflare Access protects it. A new workers.dev address needs some minutes: run this again';
    case 503:
      return '503: it reaches neither Postgres nor the queue. Look at npx wrangler tail of the receiver, and run this again';
    default:
      return `it answers ${response.status}. Look at npx wrangler tail of the receiver, and run this again`;
  }
}
