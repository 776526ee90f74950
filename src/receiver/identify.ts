import type { Claimable } from '../db/claim.ts';
import { sha256 } from '../encoding/bytes.ts';
import { formAsJson, formOf } from '../encoding/form.ts';
import { parseLines } from '../encoding/json.ts';
import type { Source } from '../kit/index.ts';
import type { Place, Provider } from '../providers/types.ts';
import type { DeliveryWithJson } from '../verify/delivery.ts';
import { itemsOf } from '../verify/items.ts';
import { fillFirst, headersNamed, jsonAt, type TemplateValues, valueAt } from '../verify/places.ts';

export type Identified =
  | { outcome: 'identified'; events: Claimable[] }
  | {
      outcome: 'unclaimable';
      reason: 'not UTF-8' | 'not JSON' | 'not a JSON object' | 'no list of events' | 'no usable id';
    };

/** Room for composite ids, and in UTF-8 still within what one index entry of Postgres can hold. */
const MAX_ID_LENGTH = 512;

/** What is worth knowing of a delivery when its event is looked at later, besides what identified it. */
const KEPT_HEADERS = ['content-type', 'user-agent'];

/** Turns a verified delivery into what can be claimed: one event, or those of a batch. */
export async function identify(source: Source, delivery: DeliveryWithJson): Promise<Identified> {
  const text = delivery.readText();
  if (text === undefined) return unclaimable('not UTF-8');
  const { batch, form } = source.provider;
  const fields = form && formOf(delivery.headers, delivery.body);
  if (fields) {
    const json = formAsJson(fields);
    return one(source, { ...delivery, json }, JSON.stringify(json));
  }

  const whole = delivery.parse();
  const parsed = whole.outcome === 'malformed' && batch?.lines ? parseLines(text) : whole;
  if (parsed.outcome === 'malformed') return unclaimable('not JSON');
  if (!batch) return one(source, { ...delivery, json: parsed.json }, text);
  const items = itemsOf(batch, parsed.json);
  if (items === undefined) return unclaimable('no list of events');
  return { outcome: 'identified', events: await Promise.all(items.map((item) => itemEvent(source, delivery, item))) };
}

async function one(source: Source, values: TemplateValues, text: string): Promise<Identified> {
  const { json } = values;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return unclaimable('not a JSON object');
  const event = await eventOf(source, values, text);
  return event ? { outcome: 'identified', events: [event] } : unclaimable('no usable id');
}

/** An item that has no id is claimed by its content: refusing it would take its neighbours along. */
async function itemEvent(source: Source, delivery: DeliveryWithJson, json: unknown): Promise<Claimable> {
  const text = JSON.stringify(json);
  const values = { ...delivery, body: new TextEncoder().encode(text), json };
  const event =
    (await eventOf(source, values, text)) ?? (await eventOf({ ...source, dedupe: 'content' }, values, text));
  if (!event) throw new Error('an event is always identified by its content');
  return event;
}

async function eventOf(source: Source, given: TemplateValues, text: string): Promise<Claimable | undefined> {
  const { id } = source.provider;
  const guarded = !id.signed && !id.bodiesRepeat && !source.bodiesRepeat;
  const hashed = guarded || source.dedupe === 'content' || [id.at].flat().some((part) => part.includes('{sha256}'));
  const values = hashed ? { ...given, sha256: await sha256(given.body) } : given;

  const eventId = source.dedupe === 'content' ? values.sha256 : fillFirst(id.at, values);
  if (eventId === undefined || eventId.trim() === '' || !isStorable(eventId)) return undefined;
  // What comes once on its own account (Mailgun's token) does so also where bodies repeat.
  const onces = [id.once ?? []].flat().filter((once) => !(source.bodiesRepeat && once.includes('{sha256}')));
  const once = fillFirst(onces, values);
  return {
    eventId,
    type: typeOf(source.provider, values),
    occurredAt: occurredAt(source.provider, values),
    // Hashed, since a stranger may have written a part of it, and an index takes no long text.
    fingerprint: once ? await sha256(new TextEncoder().encode(once)) : guarded ? (values.sha256 ?? null) : null,
    body: text,
  };
}

/** The few headers worth keeping with the body: never a signature. */
export function keptHeaders({ id, type, occurredAt }: Provider, headers: Headers): Record<string, string> {
  const named = headersNamed([id.at, type, occurredAt?.at ?? []].flat());
  const found = [...KEPT_HEADERS, ...named].flatMap((name) => [[name, headers.get(name)]]);
  return Object.fromEntries(found.filter(([, value]) => value !== null));
}

/** An event whose type is absent or can't be stored is still an event: losing the type is better than losing it. */
function typeOf(provider: Provider, values: TemplateValues): string | null {
  const found = fillFirst(provider.type, values);
  return found !== undefined && isStorable(found) ? found : null;
}

function occurredAt({ occurredAt }: Provider, values: TemplateValues): Date | null {
  if (!occurredAt) return null;
  const [found] = [occurredAt.at].flat().flatMap((place) => timeAt(place, values) ?? []);
  if (found === undefined || found === '') return null;
  const { unit } = occurredAt;
  const time = new Date(unit === 'iso' ? found : Number(found) * (unit === 's' ? 1000 : 1));
  // Postgres and JavaScript agree on the years 1 to 9999; a time outside them is a mistake, not a reason to lose the event.
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999 ? time : null;
}

/** A time may have fractions (Mailgun), which an id must not. */
function timeAt(place: Place, values: TemplateValues): string | number | undefined {
  const value = place.startsWith('json:') ? jsonAt(place.slice('json:'.length), values.json) : undefined;
  return typeof value === 'number' ? value : valueAt(place, values);
}

/** No control characters (Postgres can't store NUL), no half characters (two ids would become one). */
function isStorable(text: string): boolean {
  return text.length <= MAX_ID_LENGTH && text.isWellFormed() && !/\p{Cc}/u.test(text);
}

function unclaimable(reason: Extract<Identified, { outcome: 'unclaimable' }>['reason']): Identified {
  return { outcome: 'unclaimable', reason };
}
