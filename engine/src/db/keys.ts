import { sha256 } from '../shared/bytes.ts';

/** Identifies an event: the primary key of `webhooks.events`. */
export interface EventKey {
  readonly source: string;
  readonly eventId: string;
}

/** Identifies an effect: the primary key of `webhooks.effects`. */
export interface EffectKey extends EventKey {
  /** Unique within the event. */
  readonly name: string;
}

/** A key as one string, for maps. It is JSON because an id could contain any separator. */
export function keyText({ source, eventId, name }: EventKey & { readonly name?: string }): string {
  return JSON.stringify([source, eventId, name]);
}

/** The same for every attempt. Hashed, so that it is safe in a header whatever the event's id contains. */
export function idempotencyKeyOf(key: EffectKey): Promise<string> {
  return sha256(new TextEncoder().encode(keyText(key)));
}
