import type { Bytes } from '../shared/bytes.ts';
import { formFields, formOf } from '../shared/json.ts';
import { defineProvider } from './define.ts';
import type { Delivery } from './types.ts';

export const twilio = defineProvider({
  name: 'twilio',
  docs: 'https://www.twilio.com/docs/usage/security#validating-requests',
  scheme: {
    algorithm: 'hmac-sha1',
    signature: 'header:x-twilio-signature',
    encoding: 'base64',
    key: 'utf8',
    signed: { custom: signedTexts, words: 'the URL, then every form field sorted by name' },
    // A JSON body is not signed itself, but the signed URL contains its hash.
    bodyHash: 'query:bodySHA256',
  },
  form: true,
  // Event Streams sends a list of CloudEvents.
  batch: { each: ['*'] },
  id: {
    at: [
      '{json:specversion}:{json:source}:{json:id}',
      '{json:MessageSid}:{json:MessageStatus}',
      // If a caller presses the same digit twice, both forms are equal. Only this unsigned header differs, and it stays
      // the same on a retry.
      '{header:i-twilio-idempotency-token}',
    ],
    signed: false,
    // The signed text joins the fields of a form without separators. Somebody could split a captured text into
    // different fields with another id, and the signature would still match. So the signature is the replay key. For a
    // list of events, the key is the signed body hash and the event's id, because all its events have one signature.
    replayKey: ['{query:bodySHA256}:{json:source}:{json:id}', '{header:x-twilio-signature}'],
    // Event Streams may resend an event in another list, which has another hash.
    retriesDiffer: true,
  },
  type: [
    'message.{json:MessageStatus}',
    'call.{json:CallStatus}',
    'message.{json:SmsStatus}',
    '{json:type}',
    '{json:EventType}',
  ],
  occurredAt: { at: 'json:time', unit: 'iso' },
  // Empty TwiML. To answer a call or a message, use Twilio's API in a handler.
  ack: { status: 200, headers: { 'content-type': 'text/xml' }, text: '<Response/>' },
  // Many times the size of Twilio's longest message. The limit is low because a form is sorted before it is verified.
  maxBytes: 256 * 1024,
});

/**
 * Twilio may sign the URL with or without its port, and as typed, normalized or escaped. Like its SDK, we try all
 * variants.
 */
function signedTexts({ url, headers, body }: Delivery): Bytes[] {
  if (!URL.canParse(url)) return [];
  const { href, search, searchParams } = new URL(url);
  const fields = searchParams.has('bodySHA256') ? '' : sortedFields(formOf(headers, body));
  // A body that is neither a form nor hashed into the URL is not signed at all.
  if (fields === undefined) return [];
  const escaped = search === '' ? href : href.replace(search, () => `?${escapedQuery(searchParams)}`);
  const urls = [url, href, escaped].flatMap((one) => [withoutPort(one), withPort(one)]);
  return [...new Set(urls)].map((one) => Uint8Array.from(new TextEncoder().encode(one + fields)));
}

/** Writes a query as Node's old `querystring` does: the values of one name are next to each other. */
function escapedQuery(query: URLSearchParams): string {
  const pairs = Array.from(formFields(query), ([name, values]) => values.map((value) => [name, value]));
  return pairs.flatMap((some) => some.map((pair) => pair.map(encodeURIComponent).join('='))).join('&');
}

function sortedFields(form: URLSearchParams | undefined): string | undefined {
  if (form === undefined) return undefined;
  const fields = formFields(form);
  const names = [...fields.keys()].sort();
  return names.flatMap((name) => [...new Set(fields.get(name))].sort().map((value) => name + value)).join('');
}

const ORIGIN = /^(https?:\/\/[^/?#:]+)(:\d+)?/;

function withoutPort(url: string): string {
  return url.replace(ORIGIN, '$1');
}

function withPort(url: string): string {
  return url.replace(ORIGIN, (_origin, host: string, port = host.startsWith('https') ? ':443' : ':80') => host + port);
}
