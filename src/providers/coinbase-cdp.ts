import { type Bytes, join } from '../shared/bytes.ts';
import { defineProvider } from './define.ts';
import type { Delivery, Place } from './types.ts';

export const coinbaseCdp = defineProvider({
  name: 'coinbase-cdp',
  docs: 'https://docs.cdp.coinbase.com/webhooks/verify-signatures',
  scheme: {
    signature: 'header:x-hook0-signature#v1',
    encoding: 'hex',
    key: 'utf8',
    signed: { custom: signedText, words: 'time, names and values of the headers listed in h, body' },
    timestamp: { at: 'header:x-hook0-signature#t', unit: 's', windowSeconds: 300 },
  },
  // Coinbase documents no id, so events with the same body are the same event.
  id: { at: '{sha256}', signed: true },
  type: ['{json:eventType}', '{json:type}'],
});

/** The header names in `h` are separated by spaces. A place can't read them: in a list header, a space ends a value. */
const NAMES = /(?:^|,)\s*h=([\w -]*)/;

function signedText({ headers, body }: Delivery, textAt: (place: Place) => string | undefined): Bytes[] {
  const time = textAt('header:x-hook0-signature#t');
  const names = NAMES.exec(headers.get('x-hook0-signature') ?? '')?.[1];
  if (time === undefined || names === undefined) return [];
  const values = names.split(' ').map((name) => (name === '' ? null : headers.get(name)));
  if (values.includes(null)) return [];
  return [join([`${time}.${names}.${values.join('.')}.`, body])];
}
