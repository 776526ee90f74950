import type { NewEvent } from '../db/claim.ts';
import type { Source } from '../kit/index.ts';
import type { Delivery, Place, Provider } from '../providers/types.ts';
import { sha256 } from '../shared/bytes.ts';
import { formAsJson, formOf, parseLines } from '../shared/json.ts';
import { memoize } from '../shared/memoize.ts';
import { isStorableTime } from '../shared/text.ts';
import { isTraceparent } from '../shared/trace.ts';
import { DeliveryWithJson } from '../verify/delivery.ts';
import { itemsOf } from '../verify/items.ts';
import { fillFirst, headersNamed, jsonAt, listOf, type TemplateValues, textAt } from '../verify/places.ts';

export type IdentifyResult =
  | { outcome: 'identified'; events: NewEvent[] }
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

/** Enough for ids made of several values. Even in UTF-8, it fits into an index entry of Postgres (2,704 bytes). */
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

/** The event of a verified delivery, or the events of its batch. `randomId` makes ids for events without any. */
export async function identify(source: Source, verified: Delivery, randomId: () => string): Promise<IdentifyResult> {
  const delivery = DeliveryWithJson.from(verified);
  const text = delivery.readText();
  if (text === undefined) return unclaimable('not UTF-8');
  const values = { ...delivery, randomId };
  const { batch, form } = source.provider;
  const fields = form && formOf(delivery.headers, delivery.body);
  if (fields) {
    const json = formAsJson(fields);
    return single(source, { ...values, json }, JSON.stringify(json));
  }

  const whole = delivery.parse();
  const parsed = whole.outcome === 'malformed' && batch?.lines ? parseLines(text) : whole;
  if (parsed.outcome === 'malformed') return unclaimable('not JSON');
  if (!batch) return single(source, { ...values, json: parsed.json }, text);
  const items = itemsOf(batch, parsed.json);
  if (items === undefined) return unclaimable('no list of events');
  return batchEvents(source, values, items);
}

/** Stops at the first event over a limit, so that an oversized batch costs no more than the largest accepted one. */
async function batchEvents(source: Source, values: TemplateValues, items: Iterable<unknown>): Promise<IdentifyResult> {
  const events: NewEvent[] = [];
  let bytes = 0;
  for (const item of items) {
    if (events.length === MAX_EVENTS) return unclaimable('too many events');
    const text = JSON.stringify(item);
    bytes += bytesInClaim(text);
    if (bytes > MAX_BATCH_BYTES) return unclaimable('events too large');
    events.push(await itemEvent(source, { ...values, json: item }, text));
  }
  return { outcome: 'identified', events };
}

async function single(source: Source, values: TemplateValues, text: string): Promise<IdentifyResult> {
  const { json } = values;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return unclaimable('not a JSON object');
  const event = await eventOf(source, values, text, () => values.body);
  return event ? { outcome: 'identified', events: [event] } : unclaimable('no usable id');
}

/**
 * How many bytes of UTF-8 a text takes in a claim: as JSON inside JSON. Both escape quotes and backslashes,
 * so each of them takes four bytes.
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
async function itemEvent(source: Source, values: TemplateValues, text: string): Promise<NewEvent> {
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
): Promise<NewEvent | undefined> {
  const { id } = source.provider;
  const replayKeys = replayKeysOf(source);
  const values = byContent || needsHash(source) ? { ...given, sha256: await sha256(bytes()) } : given;

  const eventId = byContent ? values.sha256 : fillFirst(id.at, values);
  if (eventId === undefined || eventId.trim() === '' || !isUsable(eventId)) return undefined;
  return {
    eventId,
    type: typeOf(source.provider, values),
    occurredAt: timeOf(source.provider, values),
    fingerprint: await fingerprintOf(fillFirst(replayKeys, values), values),
    body: text,
  };
}

/**
 * The first of these that can be filled is the event's replay key: what the provider's data names or, if the provider
 * doesn't sign its id, the body. With `bodiesRepeat` no replay key may contain the body's hash, because two real events
 * may have the same body. Mailgun's token still counts then, because it is new for every event.
 */
const replayKeysOf = memoize(({ provider: { id }, bodiesRepeat = id.bodiesRepeat }: Source): readonly string[] => {
  const keys = [id.replayKey ?? [], id.signed ? [] : '{sha256}'].flat();
  return bodiesRepeat ? keys.filter((key) => !key.includes('{sha256}')) : keys;
});

/** Whether the body's hash identifies events of this source, or is a part of what does. */
const needsHash = memoize((source: Source) => {
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

const namesOfKept = memoize(({ id, type, occurredAt }: Provider) => [
  ...KEPT_HEADERS,
  ...headersNamed([id.at, type, occurredAt?.at ?? []].flat()),
]);

/** `null` if the type is absent or can't be stored: losing the type is better than losing the event. */
function typeOf(provider: Provider, values: TemplateValues): string | null {
  const found = fillFirst(provider.type, values);
  return found !== undefined && isUsable(found) ? found : null;
}

function timeOf({ occurredAt }: Provider, values: TemplateValues): Date | null {
  if (!occurredAt) return null;
  const { at, unit } = occurredAt;
  const found = listOf(at)
    .map((place) => timeAt(place, values))
    .find((time) => time !== undefined);
  if (found === undefined || found === '') return null;
  const time = new Date(unit === 'iso' ? found : Number(found) * (unit === 's' ? 1000 : 1));
  // Any other time is a mistake, but no reason to lose the event.
  return isStorableTime(time) ? time : null;
}

/** A time may be a number with fractions (Mailgun). An id may not, so `textAt` ignores such numbers. */
function timeAt(place: Place, values: TemplateValues): string | number | undefined {
  const value = place.startsWith('json:') ? jsonAt(place.slice('json:'.length), values.json) : undefined;
  return typeof value === 'number' ? value : textAt(place, values);
}

/** No control characters (Postgres can't store NUL) and no lone surrogates (in UTF-8, two ids would become one). */
function isUsable(text: string): boolean {
  return text.length <= MAX_ID_LENGTH && text.isWellFormed() && !/\p{Cc}/u.test(text);
}

function unclaimable(reason: Extract<IdentifyResult, { outcome: 'unclaimable' }>['reason']): IdentifyResult {
  return { outcome: 'unclaimable', reason };
}
