import { sha256 } from '../shared/bytes.ts';

/** What identifies an event: the primary key of `webhooks.events`. */
export interface EventKey {
  readonly source: string;
  readonly eventId: string;
}

/** What identifies an effect: the primary key of `webhooks.effects`. */
export interface EffectKey extends EventKey {
  /** Tells two effects of one event apart. */
  readonly name: string;
}

/** A key as one string, for maps. JSON, because any separator of our own could occur in an id. */
export function keyText({ source, eventId, name }: EventKey & { readonly name?: string }): string {
  return JSON.stringify([source, eventId, name]);
}

/** The same at every attempt. Hashed, so that it is safe in a header whatever the event's id contains. */
export function idempotencyKeyOf(key: EffectKey): Promise<string> {
  return sha256(new TextEncoder().encode(keyText(key)));
}
