import type { Claimable } from '../db/incoming.ts';

/** A verified delivery that Postgres could not take in time. It goes through the queue, and the consumer claims it. */
export interface Forwarded {
  readonly source: string;
  readonly events: readonly Claimable[];
  readonly headers: Record<string, string>;
  readonly receivedAt: Date;
}

/** A queue message may have 128,000 bytes, including about 100 bytes of its own metadata. */
const MAX_MESSAGE_BYTES = 127_500;

/** Compresses a delivery, so that larger ones fit into a message too. `undefined` if it is still too large. */
export async function pack(forwarded: Forwarded): Promise<Uint8Array | undefined> {
  const bytes = await pipe(JSON.stringify(forwarded), new CompressionStream('gzip'));
  return bytes.byteLength <= MAX_MESSAGE_BYTES ? new Uint8Array(bytes) : undefined;
}

/** `undefined` if `pack` has not made this message. */
export async function unpack(message: unknown): Promise<Forwarded | undefined> {
  if (!(message instanceof ArrayBuffer) && !ArrayBuffer.isView(message)) return undefined;
  try {
    const text = new TextDecoder().decode(await pipe(message, new DecompressionStream('gzip')));
    const { source, events, headers, receivedAt } = JSON.parse(text) as Packed;
    const withDate = (occurredAt: string | null) => (occurredAt === null ? null : new Date(occurredAt));
    return {
      source,
      events: events.map(({ occurredAt, ...event }) => ({ ...event, occurredAt: withDate(occurredAt) })),
      headers,
      receivedAt: new Date(receivedAt),
    };
  } catch {
    return undefined;
  }
}

/** As JSON has it: without dates. */
interface Packed extends Omit<Forwarded, 'events' | 'receivedAt'> {
  readonly events: (Omit<Claimable, 'occurredAt'> & { readonly occurredAt: string | null })[];
  readonly receivedAt: string;
}

function pipe(body: BodyInit, through: CompressionStream | DecompressionStream): Promise<ArrayBuffer> {
  const stream = new Response(body).body;
  return new Response(stream?.pipeThrough(through)).arrayBuffer();
}
