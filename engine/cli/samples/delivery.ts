import { randomUUID } from 'node:crypto';
import type { Samples, Source } from '../../src/kit/index.ts';
import { identify } from '../../src/receiver/identify.ts';
import { namedTypes } from '../../src/shared/event-types.ts';
import { addressOf } from '../../src/shared/tenants.ts';
import { DeliveryValues } from '../../src/verify/delivery.ts';
import { sampleOf } from './samples.ts';
import { encodeBody, sign } from './sign.ts';
import { openOwnToken } from './sign-jose.ts';

/** A signed delivery, ready to send. */
export interface SignedDelivery {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

export interface Wanted {
  /** The source's name, which is also a segment of the receiver's path and the key of the samples. */
  readonly name: string;
  readonly source: Source;
  /** The key that the provider signs with. */
  readonly key: string;
  /** The receiver's address. */
  readonly receiver: string;
  /** The last segment of a tenant's address. */
  readonly segment?: string | undefined;
  /** Default: the source's first type, or otherwise the first type of the provider's sample. */
  readonly type?: string | undefined;
  readonly id?: string | undefined;
  readonly now?: Date;
  /** The app's own samples. */
  readonly samples?: Samples | undefined;
  /** Default: the app's sample for this type, or otherwise the provider's. */
  readonly body?: object | string | undefined;
}

/** Makes a delivery as the provider would send it. */
export function makeDelivery({
  name,
  source,
  key,
  receiver,
  segment,
  now = new Date(),
  ...wanted
}: Wanted): SignedDelivery {
  const sample = sampleOf(source.provider);
  const type = wanted.type ?? typesToSend(name, source, wanted.samples)[0] ?? sample.types[0];
  const id = wanted.id ?? sample.id();
  const content = wanted.body ?? wanted.samples?.[name]?.[type]?.({ id, type, now });
  const body = typeof content === 'object' ? encodeBody(source.provider, content) : content;
  const addressAt = (sourceUrl: string) => (segment === undefined ? sourceUrl : addressOf(sourceUrl, segment));
  const url = new URL(addressAt(`/webhooks/${name}`), receiver);
  const signedUrl = source.url === undefined ? url.href : addressAt(source.url);
  const signed = sign(source.provider, key, { id, type, now, body, url: signedUrl });
  for (const [parameter, value] of Object.entries(signed.query)) url.searchParams.set(parameter, value);
  return { url: url.href, headers: signed.headers, body: signed.body };
}

/** The types that a source names, or otherwise those of the app's samples. */
export function typesToSend(name: string, { types }: Source, samples: Samples = {}): readonly string[] {
  return types === '*' ? Object.keys(samples[name] ?? {}) : namedTypes(types);
}

export interface ExpectedEvent {
  readonly eventId: string;
  readonly type: string | null;
  /** The time that the sender gives. */
  readonly occurredAt: Date | null;
  /** The hashed replay key. */
  readonly fingerprint: string | null;
}

/** The events of a delivery, with the ids that they have in Postgres. Empty if there is nothing to claim. */
export async function eventsIn(
  source: Source,
  delivery: SignedDelivery,
  tenant?: string,
): Promise<readonly ExpectedEvent[]> {
  const headers = new Headers(delivery.headers);
  const body = new TextEncoder().encode(delivery.body);
  const values = new DeliveryValues({ method: 'POST', url: delivery.url, headers, body });
  const { scheme } = source.provider;
  if (scheme.check !== undefined) openOwnToken(scheme, values);
  const identified = await identify(source, values, randomUUID, tenant);
  return identified.outcome === 'identified' ? identified.events : [];
}
