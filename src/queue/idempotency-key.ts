import { type EffectKey, keyText } from '../db/keys.ts';
import { sha256 } from '../encoding/bytes.ts';

/** The same at every attempt. Hashed, so that it is safe in a header whatever the event's id contains. */
export function idempotencyKeyOf({ source, eventId, name }: EffectKey): Promise<string> {
  return sha256(new TextEncoder().encode(keyText({ source, eventId, name })));
}
