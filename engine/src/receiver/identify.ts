import type { NewEvent } from '../db/claim.ts';
import type { Source } from '../kit/index.ts';
import type { Provider, Time } from '../providers/types.ts';
import { sha256 } from '../shared/bytes.ts';
import { formAsJson, formOf, parseLines } from '../shared/json.ts';
import { memoize } from '../shared/memoize.ts';
import { ofTenant } from '../shared/tenants.ts';
import { isStorableTime } from '../shared/text.ts';
import { isTraceparent } from '../shared/trace.ts';
import type { DeliveryValues } from '../verify/delivery.ts';
import { signedHeaders } from '../verify/index.ts';
import { itemsOf } from '../verify/items.ts';
import { asList, fillFirst, headersNamed, meets, type TemplateValues, textAt } from '../verify/places.ts';

export type IdentifyResult =
  | { outcome: 'identified'; events: NewEvent[] }
  | {
      outcome: 'unclaimable';
      reason:
        | 'not UTF-8'
        | 'not JSON'
        | 'not a JSON object'
        | 'no list of events'
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
export async function identify(
  source: Source,
  delivery: DeliveryValues,
  randomId: () => string,
  tenant?: string,
): Promise<IdentifyResult> {
  const { provider } = source;
  const { batch, form } = provider;
  const text = delivery.text();
  if (text === undefined) return unclaimable('not UTF-8');
  delivery.randomId = randomId;
  delivery.signedHeaders = signedHeaders(provider, delivery);
  const fields = form && formOf(delivery.headers, delivery.body);
  if (fields) {
    delivery.json = formAsJson(fields);
    return single(source, tenant, delivery, JSON.stringify(delivery.json));
  }

  const whole = delivery.parse();
  const parsed = whole.outcome === 'malformed' && batch?.lines ? parseLines(text) : whole;
  if (parsed.outcome === 'malformed') return unclaimable('not JSON');
  if (!batch) return single(source, tenant, delivery, text);
  const items = itemsOf(batch, parsed.json);
  if (items === undefined) return unclaimable('no list of events');
  return batchEvents(source, tenant, delivery, items);
}

/** Stops at the first event over a limit, so that an oversized batch costs no more than the largest accepted one. */
async function batchEvents(
  source: Source,
  tenant: string | undefined,
  delivery: DeliveryValues,
  items: Iterable<unknown>,
): Promise<IdentifyResult> {
  const events: NewEvent[] = [];
  let bytes = 0;
  for (const item of items) {
    if (events.length === MAX_EVENTS) return unclaimable('too many events');
    const text = JSON.stringify(item);
    bytes += bytesInClaim(text);
    if (bytes > MAX_BATCH_BYTES) return unclaimable('events too large');
    const bytesOf = () => new TextEncoder().encode(text);
    events.push(await eventOf(source, tenant, delivery.itemOf(item), text, bytesOf, events.length));
  }
  return { outcome: 'identified', events };
}

async function single(
  source: Source,
  tenant: string | undefined,
  delivery: DeliveryValues,
  text: string,
): Promise<IdentifyResult> {
  const { json } = delivery;
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return unclaimable('not a JSON object');
  return { outcome: 'identified', events: [await eventOf(source, tenant, delivery, text, () => delivery.body, 0)] };
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
 * An event without a usable id is claimed by its content. Refusing it would refuse the other events of its batch, and
 * for many providers a 4xx is final. `bytes` returns what is hashed: most events need no hash.
 */
async function eventOf(
  source: Source,
  tenant: string | undefined,
  values: DeliveryValues,
  text: string,
  bytes: () => Uint8Array,
  orderPlace: number,
): Promise<NewEvent> {
  const byContent = source.dedupe === 'content';
  if (byContent || needsHash(source.provider)) values.sha256 = await sha256(bytes());
  const id = byContent ? undefined : fillFirst(source.provider.id.at, values, isUsableId);
  const replayKey = replayKeyOf(source, values);
  const fingerprint = await fingerprintOf(replayKey, values, tenant);
  // The fields of a form depend on its content type too, which nobody signs.
  const isBodyHash = replayKey !== undefined && replayKey === values.sha256 && source.provider.form === undefined;
  return {
    eventId: ofTenant(tenant, id ?? values.sha256 ?? (await sha256(bytes()))),
    type: typeOf(source.provider, values),
    occurredAt: timeOf(source.provider, values),
    fingerprint,
    body: text,
    ...(isBodyHash && { isBodyHash }),
    ...(source.orderKey && (await orderOf(source.orderKey, values, orderPlace, tenant))),
  };
}

/** In bytes. An index entry of Postgres holds 2,704 bytes, with an id and a key. */
const MAX_ORDER_KEY = 128;

/** The order key of an event, if one can be filled. */
async function orderOf(
  orderKey: NonNullable<Source['orderKey']>,
  values: DeliveryValues,
  orderPlace: number,
  tenant: string | undefined,
) {
  const templates = typeof orderKey === 'object' && 'of' in orderKey ? orderKey.of : orderKey;
  const key = fillFirst(templates, values, (text) => text !== '' && isUsable(text));
  if (key === undefined) return undefined;
  const bytes = new TextEncoder().encode(key);
  return { orderKey: ofTenant(tenant, bytes.length > MAX_ORDER_KEY ? await sha256(bytes) : key), orderPlace };
}

/** No request can have the ids `.` and `..` in its path: URLs lose such a segment, even as `%2e`. */
function isUsableId(text: string): boolean {
  return text.trim() !== '' && !/^\.\.?$/.test(text) && isUsable(text);
}

/**
 * The first of these that can be filled is the event's replay key: what the provider's data names or, if the provider
 * doesn't sign its id, the body.
 */
const replayKeysOf = memoize(({ id }: Provider): readonly string[] =>
  [id.replayKey ?? [], id.signed ? [] : '{sha256}'].flat(),
);

/**
 * If bodies repeat, no replay key may contain the body's hash, because two real events may have the same body.
 * Mailgun's token still counts then, because it is new for every event.
 */
function replayKeyOf({ provider, bodiesRepeat }: Source, values: TemplateValues): string | undefined {
  const repeating = bodiesRepeat ?? provider.id.bodiesRepeat ?? [];
  const repeats = repeating === true || repeating.some((conditions) => meets(conditions, values));
  const keys = replayKeysOf(provider);
  return fillFirst(repeats ? keys.filter((key) => !key.includes('{sha256}')) : keys, values);
}

/** Whether an event with a known id and another replay key is another event: somebody could have written its id. */
export function hasUnsignedIds({ provider, dedupe }: Source): boolean {
  const { signed, retriesDiffer = false } = provider.id;
  return !signed && !retriesDiffer && dedupe !== 'content';
}

/** Whether the body's hash may be a part of the id or of the replay key. */
const needsHash = memoize((provider: Provider) =>
  [provider.id.at, replayKeysOf(provider)].flat(2).some((template) => template.includes('{sha256}')),
);

/** A hash, because a stranger may have written a part of the replay key, and an index can't hold a long text. */
async function fingerprintOf(
  replayKey: string | undefined,
  values: TemplateValues,
  tenant: string | undefined,
): Promise<string | null> {
  if (replayKey === undefined || replayKey === '') return null;
  const isHash = replayKey === values.sha256 && tenant === undefined;
  return isHash ? replayKey : sha256(new TextEncoder().encode(ofTenant(tenant, replayKey)));
}

/**
 * The few headers that are kept with each body. A signature is never one of them. They are not signed, so anybody could make
 * them long: each is cut at the length of the longest id. The events of a batch keep only the trace, which is short: otherwise
 * one delivery of 1,000 events would store its headers 1,000 times.
 */
export function keptHeaders(provider: Provider, headers: Headers, events = 1): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of events === 1 ? namesOfKept(provider) : []) {
    const value = headers.get(name);
    if (value !== null) kept[name] = value.slice(0, MAX_ID_LENGTH);
  }
  const traceparent = headers.get('traceparent');
  if (isTraceparent(traceparent)) kept.traceparent = traceparent;
  return kept;
}

const namesOfKept = memoize(({ id, type, occurredAt }: Provider) => [
  ...KEPT_HEADERS,
  ...headersNamed([id.at, type, [occurredAt ?? []].flat().flatMap(({ at }) => at)].flat()),
]);

/** `null` if the type is absent or can't be stored: losing the type is better than losing the event. */
function typeOf(provider: Provider, values: TemplateValues): string | null {
  const found = fillFirst(provider.type, values);
  return found !== undefined && isUsable(found) ? found : null;
}

function timeOf({ occurredAt }: Provider, values: TemplateValues): Date | null {
  for (const { at, unit } of [occurredAt ?? []].flat()) {
    for (const place of asList(at)) {
      const time = parseTime(textAt(place, values) ?? '', unit);
      // Any other time is a mistake, but no reason to lose the event.
      if (time !== undefined && isStorableTime(time)) return time;
    }
  }
  return null;
}

/** ISO 8601 without a zone would be local time for JavaScript. */
const WITHOUT_ZONE = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(:\d\d([.,]\d+)?)?)$/;

function parseTime(text: string, unit: Time['unit']): Date | undefined {
  // `Date` accepts many texts as times, such as "-1".
  if (unit === 'iso') return /^\d{4}-/.test(text) ? new Date(text.replace(WITHOUT_ZONE, '$1T$2Z')) : undefined;
  return /^\d+(\.\d+)?$/.test(text) ? new Date(Number(text) * (unit === 's' ? 1000 : 1)) : undefined;
}

/** No control characters (Postgres can't store NUL) and no lone surrogates (in UTF-8, two ids would become one). */
function isUsable(text: string): boolean {
  return text.length <= MAX_ID_LENGTH && text.isWellFormed() && !/\p{Cc}/u.test(text);
}

function unclaimable(reason: Extract<IdentifyResult, { outcome: 'unclaimable' }>['reason']): IdentifyResult {
  return { outcome: 'unclaimable', reason };
}
