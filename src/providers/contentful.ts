import { type Bytes, join } from '../encoding/bytes.ts';
import { defineProvider } from './define.ts';
import type { Delivery } from './types.ts';

const LIST = 'x-contentful-signed-headers';

/** A list that leaves these out would let anybody change them. */
const MUST_BE_SIGNED = [LIST, 'x-contentful-timestamp'];

export const contentful = defineProvider({
  name: 'contentful',
  docs: 'https://www.contentful.com/developers/docs/webhooks/request-verification/',
  scheme: {
    signature: 'header:x-contentful-signature',
    encoding: 'hex',
    // 64 hex digits, used as they are.
    key: 'utf8',
    signed: {
      custom: canonicalRequest,
      words: 'method, path, the headers that x-contentful-signed-headers names, body',
    },
    // Its toolkit allows 30 seconds unless told otherwise.
    timestamp: { at: 'header:x-contentful-timestamp', unit: 'ms', windowSeconds: 300 },
  },
  // Signed only where it is among the signed headers, which nothing promises.
  id: {
    at: '{header:x-contentful-idempotency-key}',
    signed: false,
    // What is saved and published may say the same, so the body comes once for each topic.
    replayKey: '{header:x-contentful-topic}:{sha256}',
  },
  type: ['{header:x-contentful-topic}'],
  occurredAt: { at: 'json:sys.updatedAt', unit: 'iso' },
});

function canonicalRequest({ method, url, headers, body }: Delivery): Bytes[] {
  const names = (headers.get(LIST) ?? '').split(',').map((name) => name.trim().toLowerCase());
  if (!URL.canParse(url) || !MUST_BE_SIGNED.every((name) => names.includes(name))) return [];
  if (!names.every((name) => /^[\w-]+$/.test(name) && headers.has(name))) return [];
  const { pathname, search } = new URL(url);
  const lines = names.sort().map((name) => `${name}:${headers.get(name)?.trim()}`);
  return [join([`${method}\n${pathname}${search}\n${lines.join(';')}\n`, body])];
}
