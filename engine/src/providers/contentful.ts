import { type Bytes, concat } from '../shared/bytes.ts';
import { defineProvider } from './define.ts';
import type { Delivery } from './types.ts';

const LIST = 'x-contentful-signed-headers';

/**
 * Headers that the signature must cover. A delivery that doesn't list them is refused, because anybody could change
 * them.
 */
const MUST_BE_SIGNED = [LIST, 'x-contentful-timestamp'];

export const contentful = defineProvider({
  name: 'contentful',
  docs: 'https://www.contentful.com/developers/docs/webhooks/request-verification/',
  scheme: {
    signature: 'header:x-contentful-signature',
    encoding: 'hex',
    // The secret has 64 characters, which are used as text.
    key: 'utf8',
    signed: {
      custom: canonicalRequests,
      signedHeaders: namesIn,
      words: 'method, path, the headers listed in x-contentful-signed-headers, body',
    },
    // Contentful's toolkit allows 30 seconds by default. Slow networks and inaccurate clocks need more.
    timestamp: { at: 'header:x-contentful-timestamp', unit: 'ms', windowSeconds: 300 },
  },
  id: {
    at: '{header:x-contentful-idempotency-key}',
    // It is signed only if Contentful lists its header, which is not guaranteed.
    signed: false,
    replayKey: [
      '{signed-header:x-contentful-idempotency-key}',
      // Saving and publishing may send the same body, so the topic is part of the replay key. Contentful's own bodies
      // contain these two. A transformation can make all bodies equal, and then only headers tell the events apart.
      '{header:x-contentful-topic}:{json:sys.id}:{json:sys.updatedAt}:{sha256}',
      '{header:x-contentful-topic}:{header:x-contentful-crn}:{header:x-contentful-event-datetime}:{sha256}',
      '{header:x-contentful-topic}:{sha256}',
    ],
  },
  type: ['{header:x-contentful-topic}'],
  occurredAt: { at: ['header:x-contentful-event-datetime', 'json:sys.updatedAt'], unit: 'iso' },
  retriesForDays: 1,
});

function namesIn({ headers }: Delivery): string[] {
  return (headers.get(LIST) ?? '').split(',').map((name) => name.trim().toLowerCase());
}

function canonicalRequests(delivery: Delivery): Bytes[] {
  const { method, url, headers, body } = delivery;
  const names = namesIn(delivery);
  if (!URL.canParse(url) || !MUST_BE_SIGNED.every((name) => names.includes(name))) return [];
  if (!names.every((name) => /^[\w-]+$/.test(name) && headers.has(name))) return [];
  const lines = names.sort().map((name) => `${name}:${headers.get(name)?.trim()}`);
  return pathsOf(new URL(url)).map((path) => concat([`${method}\n${path}\n${lines.join(';')}\n`, body]));
}

/** Contentful's toolkit escapes the path once more, and the query twice. We also try the URL without these escapes. */
function pathsOf({ pathname, search }: URL): string[] {
  const sent = pathname + search;
  try {
    return [sent, escapedOf(sent), escapedOf(decodeURI(sent))];
  } catch {
    return [sent, escapedOf(sent)];
  }
}

function escapedOf(uri: string): string {
  const [path, query] = uri.split('?');
  return encodeURI(query ? `${path}?${encodeURIComponent(query)}` : (path ?? ''));
}
