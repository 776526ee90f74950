import type { EventDetails } from '../db/details.ts';
import { idempotencyKeyOf } from '../queue/idempotency-key.ts';

/** An event as it is shown: its effects have the keys that the other side got. */
export type ShownEvent = Awaited<ReturnType<typeof withIdempotencyKeys>>;

export async function withIdempotencyKeys(event: EventDetails) {
  const { source, event_id: eventId } = event;
  const effects = event.effects.map(async (effect) => ({
    ...effect,
    idempotency_key: await idempotencyKeyOf({ source, eventId, name: effect.name }),
  }));
  return { ...event, effects: await Promise.all(effects) };
}
