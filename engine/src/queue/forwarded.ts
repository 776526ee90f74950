import type { ClaimRequest, NewEvent } from '../db/claim.ts';
import { isTenantName } from '../shared/tenants.ts';
import { isStorableText, isStorableTime } from '../shared/text.ts';
import { MESSAGE_VERSION, versionOf } from './tickets.ts';

/**
 * A verified delivery that Postgres could not claim in time. It is sent through the queue, and the consumer claims it.
 */
export interface ForwardedDelivery extends ClaimRequest {
  /**
   * The ids of events that can't be claimed because a value is missing or has the wrong type. They are not in `events`.
   */
  readonly unreadable: readonly string[];
}

/** A queue message may have 128,000 bytes, including about 100 bytes of its own metadata. */
const MAX_MESSAGE_BYTES = 127_500;

/**
 * The largest body of our providers has 5 MiB, or twice that as JSON if it consists of quotes. A batch has at most 6
 * MiB. Unpacking takes several times the size, and an isolate has only 128 MB.
 */
const MAX_UNPACKED_BYTES = 12 * 1024 * 1024;

/** The version for a delivery with order keys, so that a consumer that doesn't know order keys can't drop them. */
const ORDERED_VERSION = 2;

/** Compresses a delivery to fit into a message. `undefined` if it is still too large. */
export async function pack(request: ClaimRequest): Promise<Uint8Array | undefined> {
  const isOrdered = request.events.some(({ orderKey }) => orderKey !== undefined);
  const version = isOrdered ? ORDERED_VERSION : MESSAGE_VERSION;
  const buffer = await pipe(JSON.stringify({ version, ...request }), new CompressionStream('gzip'));
  const bytes = new Uint8Array(buffer);
  return bytes.length <= MAX_MESSAGE_BYTES && unpackedSize(bytes) <= MAX_UNPACKED_BYTES ? bytes : undefined;
}

/**
 * The size that gzip writes at the end (RFC 1952, section 2.3.1). Counting the output would be too late, because
 * workerd unpacks everything before it returns the first byte. Only a forged message can contain a wrong size.
 */
function unpackedSize(packed: Uint8Array): number {
  return new DataView(packed.buffer, packed.byteOffset + packed.byteLength - 4).getUint32(0, true);
}

/**
 * `undefined` if `pack` can't have made this message. Every value is checked, because another version of the receiver,
 * or another program, may have sent it. A broken event doesn't affect the other events of its delivery.
 */
export async function unpack(message: unknown): Promise<ForwardedDelivery | undefined> {
  const packed = await readPacked(message);
  if (packed === undefined) return undefined;
  const { source, tenant, headers } = packed;
  const receivedAt = dateOf(packed.receivedAt);
  const isKnown = [MESSAGE_VERSION, ORDERED_VERSION].includes(Number(versionOf(packed)));
  const usable = isKnown && isStorableText(source) && isHeaders(headers) && receivedAt;
  const events = packed.events.map(({ eventId, ...rest }) => ({ eventId, event: newEventOf({ eventId, ...rest }) }));
  return {
    source: isStorableText(source) ? source : '',
    ...(typeof tenant === 'string' && isTenantName(tenant) && { tenant }),
    headers: usable ? headers : {},
    receivedAt: receivedAt ?? new Date(0),
    // Older receivers don't send this field.
    unsignedIds: packed.unsignedIds === true,
    events: usable ? events.flatMap(({ event }) => event ?? []) : [],
    unreadable: events.filter(({ event }) => !usable || !event).map(({ eventId }) => String(eventId)),
  };
}

/** A forwarded delivery after JSON parsing. Its values are not checked yet. */
interface PackedRequest extends Record<keyof ClaimRequest, unknown> {
  readonly events: readonly Record<keyof NewEvent, unknown>[];
}

async function readPacked(message: unknown): Promise<PackedRequest | undefined> {
  if (!(message instanceof ArrayBuffer) && !(message instanceof Uint8Array)) return undefined;
  try {
    const bytes = new Uint8Array(message);
    if (unpackedSize(bytes) > MAX_UNPACKED_BYTES) return undefined;
    const text = new TextDecoder().decode(await pipe(bytes, new DecompressionStream('gzip')));
    const packed = JSON.parse(text) as PackedRequest | null;
    const isList = Array.isArray(packed?.events) && packed.events.every((event) => typeof event === 'object' && event);
    return isList && packed ? packed : undefined;
  } catch {
    return undefined;
  }
}

function newEventOf(event: PackedRequest['events'][number]): NewEvent | undefined {
  const { eventId, type, fingerprint, body, isBodyHash, orderKey, orderPlace } = event;
  const occurredAt = event.occurredAt === null ? null : dateOf(event.occurredAt);
  if (!isStorableText(eventId) || !isStorableText(body) || occurredAt === undefined) return undefined;
  if (!isTextOrNull(type) || !isTextOrNull(fingerprint)) return undefined;
  const read = { eventId, type, occurredAt, fingerprint, body, ...(isBodyHash === true && { isBodyHash }) };
  if (orderKey === undefined) return read;
  return isStorableText(orderKey) && Number.isSafeInteger(orderPlace)
    ? { ...read, orderKey, orderPlace: Number(orderPlace) }
    : undefined;
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || isStorableText(value);
}

function isHeaders(value: unknown): value is Record<string, string> {
  return typeof value === 'object' && value !== null && Object.entries(value).flat().every(isStorableText);
}

function dateOf(value: unknown): Date | undefined {
  const date = new Date(typeof value === 'string' ? value : Number.NaN);
  return isStorableTime(date) ? date : undefined;
}

function pipe(body: BodyInit, through: CompressionStream | DecompressionStream): Promise<ArrayBuffer> {
  const stream = new Response(body).body;
  return new Response(stream?.pipeThrough(through)).arrayBuffer();
}
