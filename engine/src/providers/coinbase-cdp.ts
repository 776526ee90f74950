import { type Bytes, concat } from '../shared/bytes.ts';
import { defineProvider } from './define.ts';
import type { Delivery, Place } from './types.ts';

export const coinbaseCdp = defineProvider({
  name: 'coinbase-cdp',
  docs: 'https://docs.cdp.coinbase.com/webhooks/verify-signatures',
  scheme: {
    signature: 'header:x-hook0-signature#v1',
    encoding: 'hex',
    key: 'utf8',
    signed: {
      custom: signedText,
      signedHeaders: (delivery) => namesIn(delivery)?.toLowerCase().split(' ') ?? [],
      words: 'time, names and values of the headers listed in h, body',
    },
    timestamp: { at: 'header:x-hook0-signature#t', unit: 's', windowSeconds: 300 },
  },
  // Some products have no id in the body.
  id: { at: ['{json:eventId}', '{signed-header:x-event-id}'], signed: true },
  type: ['{json:eventType}', '{json:type}'],
  occurredAt: { at: 'json:timestamp', unit: 'iso' },
  // Coinbase documents up to 60 retries, but not how long they take. With the delays of Hook0, which sends them, they
  // take 24 days.
  retriesForDays: 24,
});

/**
 * The header names in `h` are separated by spaces. A place can't read them, because a space ends a value in a list
 * header.
 */
const NAMES = /(?:^|,)\s*h=([\w -]*)/;

function namesIn({ headers }: Delivery): string | undefined {
  return NAMES.exec(headers.get('x-hook0-signature') ?? '')?.[1];
}

function signedText(delivery: Delivery, textAt: (place: Place) => string | undefined): Bytes[] {
  const time = textAt('header:x-hook0-signature#t');
  const names = namesIn(delivery);
  if (time === undefined || names === undefined) return [];
  const values = names.split(' ').map((name) => (name === '' ? null : delivery.headers.get(name)));
  if (values.includes(null)) return [];
  return [concat([`${time}.${names}.${values.join('.')}.`, delivery.body])];
}
