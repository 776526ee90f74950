import type { Claimable } from '../db/incoming.ts';
import { sha256 } from '../encoding/bytes.ts';
import { formAsJson, formOf } from '../encoding/form.ts';
import { parseLines } from '../encoding/json.ts';
import { once } from '../encoding/once.ts';
import { isTraceparent } from '../encoding/traceparent.ts';
import type { Source } from '../kit/index.ts';
import type { Delivery, Place, Provider } from '../providers/types.ts';
import { DeliveryWithJson } from '../verify/delivery.ts';
import { itemsOf } from '../verify/items.ts';
import { fillFirst, headersNamed, jsonAt, listOf, type TemplateValues, valueAt } from '../verify/places.ts';

export type Identified =
  | { outcome: 'identified'; events: Claimable[] }
  | {
      outcome: 'unclaimable';
      reason:
        | 'not UTF-8'
        | 'not JSON'
        | 'not a JSON object'
        | 'no list of events'
        | 'no usable id'
        | 'too many events'
        | 'events too large';
    };

/**
 * Enough for ids made of several values, and even in UTF-8 small enough for an index entry of Postgres (2,704 bytes).
 */
const MAX_ID_LENGTH = 512;

/**
 * Claimed in one statement, and each costs about 4 KiB of memory until then. SendGrid documents the batches with the
 * most events: 768 KB, about 3,700 events of 200 bytes.
 */
export const MAX_EVENTS = 5000;

/**
 * All events of a batch together, as the claim sends them. Meta documents the largest batches: 3 MB, which become 4 to
 * 5 MB with the envelope of each message and with escapes. The receiver needs less than 64 MiB for them. At this limit
 * it needs up to 96 MiB, and an isolate has 128.
 */
export const MAX_BATCH_BYTES = 6 * 1024 * 1024;

/** Kept with every event, besides the headers that identified it: they help a person who looks at the event later. */
const KEPT_HEADERS = ['content-type', 'user-agent'];

/** Turns a verified delivery into what can be claimed: one event, or the events of a batch. */
export async function identify(source: Source, verified: Delivery): Promise<Identified> {
  const delivery = DeliveryWithJson.from(verified);
  const text = delivery.readText();
  if (text === undefined) return unclaimable('not UTF-8');
  const { batch, form } = source.provider;
  const fields = form && formOf(delivery.headers, delivery.body);
  if (fields) {
    const json = formAsJson(fields);
    return single(source, { ...delivery, json }, JSON.stringify(json));
  }

  const whole = delivery.parse();
  const parsed = whole.outcome === 'malformed' && batch?.lines ? parseLines(text) : whole;
  if (parsed.outcome === 'malformed') return unclaimable('not JSON');
  if (!batch) return single(source, { ...delivery, json: parsed.json }, text);
  const items = itemsOf(batch, parsed.json);
  if (items === undefined) return unclaimable('no list of events');
  return batchEvents(source, delivery, items);
}

/** Stops at the first event over a limit, so that an oversized batch costs no more than the largest that is accepted. */
async function batchEvents(source: Source, delivery: DeliveryWithJson, items: Iterable<unknown>): Promise<Identified> {
  const events: Claimable[] = [];
  const head = { ...delivery };
  let bytes = 0;
  for (const item of items) {
    if (events.length === MAX_EVENTS) return unclaimable('too many events');
    const text = JSON.stringify(item);
    bytes += bytesInClaim(text);
    if (bytes > MAX_BATCH_BYTES) return unclaimable('events too large');
    events.push(await itemEvent(source, { ...head, json: item }, text));
  }
  return { outcome: 'identified', events };
}

async function single(source: Source, values: TemplateValues, text: string): Promise<Identified> {
  const { json } = values;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return unclaimable('not a JSON object');
  const event = await eventOf(source, values, text, () => values.body);
  return event ? { outcome: 'identified', events: [event] } : unclaimable('no usable id');
}

/**
 * How many bytes of UTF-8 a text takes in a claim: in an array literal inside JSON. Both escape quotes and backslashes, so
 * each of them takes four bytes.
 */
function bytesInClaim(text: string): number {
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === 0x22 /* " */ || char === 0x5c /* \ */) bytes += 4;
    else if (char < 0x80) bytes += 1;
    // Half of a surrogate pair, whose two halves take four bytes together.
    else if (char < 0x800 || (char >= 0xd800 && char <= 0xdfff)) bytes += 2;
    else bytes += 3;
  }
  return bytes;
}

/**
 * An item without a usable id is claimed by its content. Refusing it would refuse the other items of the batch as well.
 */
async function itemEvent(source: Source, values: TemplateValues, text: string): Promise<Claimable> {
  const bytes = () => new TextEncoder().encode(text);
  const event = (await eventOf(source, values, text, bytes)) ?? (await eventOf(source, values, text, bytes, true));
  if (!event) throw new Error('an event is always identified by its content');
  return event;
}

/** `bytes` are what a hash of the event is made of. Most events need none. */
async function eventOf(
  source: Source,
  given: TemplateValues,
  text: string,
  bytes: () => Uint8Array,
  byContent = source.dedupe === 'content',
): Promise<Claimable | undefined> {
  const { id } = source.provider;
  const replayKeys = replayKeysOf(source);
  const values = byContent || needsHash(source) ? { ...given, sha256: await sha256(bytes()) } : given;

  const eventId = byContent ? values.sha256 : fillFirst(id.at, values);
  if (eventId === undefined || eventId.trim() === '' || !isStorable(eventId)) return undefined;
  return {
    eventId,
    type: typeOf(source.provider, values),
    occurredAt: occurredAt(source.provider, values),
    fingerprint: await fingerprintOf(fillFirst(replayKeys, values), values),
    body: text,
  };
}

/**
 * The first of these that can be filled is the event's replay key: what the provider's data names or, if the provider
 * doesn't sign its id, the body. With `bodiesRepeat` no replay key may contain the body's hash, because two real events
 * may have the same body. Mailgun's token still counts then, because it is new for every event.
 */
const replayKeysOf = once(({ provider: { id }, bodiesRepeat = id.bodiesRepeat }: Source): readonly string[] => {
  const keys = [id.replayKey ?? [], id.signed ? [] : '{sha256}'].flat();
  return bodiesRepeat ? keys.filter((key) => !key.includes('{sha256}')) : keys;
});

/** Whether the body's hash identifies events of this source, or is a part of what does. */
const needsHash = once((source: Source) => {
  const templates = [source.provider.id.at, replayKeysOf(source)].flat(2);
  return templates.some((template) => template.includes('{sha256}'));
});

/** A hash, because a stranger may have written a part of the replay key, and an index can't hold a long text. */
async function fingerprintOf(replayKey: string | undefined, values: TemplateValues): Promise<string | null> {
  if (replayKey === undefined || replayKey === '') return null;
  return replayKey === values.sha256 ? replayKey : sha256(new TextEncoder().encode(replayKey));
}

/** The few headers that are kept with the body. A signature is never one of them. */
export function keptHeaders(provider: Provider, headers: Headers): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of namesOfKept(provider)) {
    const value = headers.get(name);
    if (value !== null) kept[name] = value;
  }
  const traceparent = headers.get('traceparent');
  if (isTraceparent(traceparent)) kept.traceparent = traceparent;
  return kept;
}

const namesOfKept = once(({ id, type, occurredAt }: Provider) => [
  ...KEPT_HEADERS,
  ...headersNamed([id.at, type, occurredAt?.at ?? []].flat()),
]);

/** `null` if the type is absent or can't be stored: losing the type is better than losing the event. */
function typeOf(provider: Provider, values: TemplateValues): string | null {
  const found = fillFirst(provider.type, values);
  return found !== undefined && isStorable(found) ? found : null;
}

function occurredAt({ occurredAt }: Provider, values: TemplateValues): Date | null {
  if (!occurredAt) return null;
  const found = firstTime(listOf(occurredAt.at), values);
  if (found === undefined || found === '') return null;
  const { unit } = occurredAt;
  const time = new Date(unit === 'iso' ? found : Number(found) * (unit === 's' ? 1000 : 1));
  // Both Postgres and JavaScript know the years 1 to 9999. Any other year is a mistake, but no reason to lose the
  // event.
  const year = time.getUTCFullYear();
  return year >= 1 && year <= 9999 ? time : null;
}

function firstTime(places: readonly Place[], values: TemplateValues): string | number | undefined {
  for (const place of places) {
    const time = timeAt(place, values);
    if (time !== undefined) return time;
  }
  return undefined;
}

/** A time may be a number with fractions (Mailgun). An id may not, so `valueAt` ignores such numbers. */
function timeAt(place: Place, values: TemplateValues): string | number | undefined {
  const value = place.startsWith('json:') ? jsonAt(place.slice('json:'.length), values.json) : undefined;
  return typeof value === 'number' ? value : valueAt(place, values);
}

/**
 * No control characters (Postgres can't store NUL) and no lone surrogates (in UTF-8 two different ids would become
 * one).
 */
function isStorable(text: string): boolean {
  return text.length <= MAX_ID_LENGTH && text.isWellFormed() && !/\p{Cc}/u.test(text);
}

function unclaimable(reason: Extract<Identified, { outcome: 'unclaimable' }>['reason']): Identified {
  return { outcome: 'unclaimable', reason };
}
