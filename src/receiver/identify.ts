import type { Source } from '../app/define.ts';
import type { Claimable } from '../db/claim.ts';
import { parseJson } from '../providers/json.ts';
import { fillText, headersNamed, type Sight, valueAt } from '../providers/places.ts';
import type { Provider } from '../providers/types.ts';
import { sha256 } from '../sha256.ts';

export type Identified =
  | { outcome: 'identified'; events: Claimable[] }
  | { outcome: 'unclaimable'; reason: 'not UTF-8' | 'not JSON' | 'not a JSON object' | 'no usable id' };

/** Room for composite ids, and in UTF-8 still within what one index entry of Postgres can hold. */
const MAX_ID_LENGTH = 512;

/** What is worth knowing of a delivery when its event is looked at later, besides what identified it. */
const KEPT_HEADERS = ['content-type', 'user-agent'];

/** Turns a verified delivery into what can be claimed. */
export async function identify(source: Source, headers: Headers, body: Uint8Array<ArrayBuffer>): Promise<Identified> {
  const text = decode(body);
  if (text === undefined) return { outcome: 'unclaimable', reason: 'not UTF-8' };
  const parsed = parseJson(text);
  if (parsed.outcome === 'malformed') return { outcome: 'unclaimable', reason: 'not JSON' };
  const { json } = parsed;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    return { outcome: 'unclaimable', reason: 'not a JSON object' };
  }

  const { provider } = source;
  const sight: Sight = { headers, body, json };
  const eventId = source.dedupe === 'content' ? await sha256(body) : fillText(provider.id.at, sight);
  if (eventId === undefined || eventId.trim() === '' || !isStorable(eventId)) {
    return { outcome: 'unclaimable', reason: 'no usable id' };
  }
  const guarded = !provider.id.signed && !provider.id.bodiesRepeat;
  const event: Claimable = {
    eventId,
    type: typeOf(provider, sight),
    occurredAt: occurredAt(provider, sight),
    fingerprint: guarded ? await sha256(body) : null,
    body: text,
  };
  return { outcome: 'identified', events: [event] };
}

/** The few headers worth keeping with the body: never a signature. */
export function keptHeaders(provider: Provider, headers: Headers): Record<string, string> {
  const names = [...KEPT_HEADERS, ...headersNamed([provider.id.at, ...provider.type, provider.occurredAt?.at ?? ''])];
  return Object.fromEntries(names.flatMap((name) => [[name, headers.get(name)]]).filter(([, value]) => value !== null));
}

/** Strict, and a byte order mark stays where it is: JSON text must not begin with one (RFC 8259, section 8.1). */
function decode(body: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body);
  } catch {
    return undefined;
  }
}

/** An event whose type is absent or can't be stored is still an event: losing the type is better than losing it. */
function typeOf(provider: Provider, sight: Sight): string | null {
  const found = provider.type.map((template) => fillText(template, sight)).find((type) => type !== undefined);
  return found !== undefined && isStorable(found) ? found : null;
}

function occurredAt({ occurredAt }: Provider, sight: Sight): Date | null {
  const text = occurredAt && valueAt(occurredAt.at, sight);
  if (!text) return null;
  const time = new Date(occurredAt.unit === 'iso' ? text : Number(text) * (occurredAt.unit === 's' ? 1000 : 1));
  // Postgres and JavaScript agree on the years 1 to 9999; a time outside them is a mistake, not a reason to lose the event.
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999 ? time : null;
}

/** No control characters (Postgres can't store NUL), no half characters (two ids would become one). */
function isStorable(text: string): boolean {
  return text.length <= MAX_ID_LENGTH && text.isWellFormed() && !/\p{Cc}/u.test(text);
}
