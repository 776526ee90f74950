import { type Bytes, join } from '../shared/bytes.ts';
import { defineProvider } from './define.ts';
import type { Delivery } from './types.ts';

const LIST = 'x-contentful-signed-headers';

/** If the list leaves one of these out, anybody could change it, so such a delivery is refused. */
const MUST_BE_SIGNED = [LIST, 'x-contentful-timestamp'];

export const contentful = defineProvider({
  name: 'contentful',
  docs: 'https://www.contentful.com/developers/docs/webhooks/request-verification/',
  scheme: {
    signature: 'header:x-contentful-signature',
    encoding: 'hex',
    // 64 hex digits, used as text.
    key: 'utf8',
    signed: {
      custom: canonicalRequest,
      words: 'method, path, the headers listed in x-contentful-signed-headers, body',
    },
    // Contentful's toolkit allows 30 seconds by default. Slow networks and inexact clocks need more.
    timestamp: { at: 'header:x-contentful-timestamp', unit: 'ms', windowSeconds: 300 },
  },
  // The id is signed only if Contentful lists its header among the signed ones, and nothing promises that.
  id: {
    at: '{header:x-contentful-idempotency-key}',
    signed: false,
    // Saving and publishing may send the same body, so the topic is part of the replay key.
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
