import type { Bytes } from '../shared/bytes.ts';
import { fieldsOf, formOf } from '../shared/json.ts';
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
  // A message and its status. A call can be in progress several times, and not every form contains a status. Such
  // events are identified by their content.
  id: {
    at: [
      '{json:MessageSid}:{json:MessageStatus}',
      '{json:CallSid}:{json:CallStatus}:{sha256}',
      '{json:MessageSid}:{sha256}',
      '{json:CallSid}:{sha256}',
      '{sha256}',
    ],
    signed: true,
    // The signed text joins the fields without separators. Somebody could split a captured text into other fields with
    // another id, and the signature would still match. It is still the same signature, so it is the replay key.
    replayKey: '{header:x-twilio-signature}',
  },
  type: ['message.{json:MessageStatus}', 'call.{json:CallStatus}', 'message.{json:SmsStatus}'],
  // TwiML that does nothing. To answer a call or a message, use Twilio's API in a handler.
  ack: { status: 200, headers: { 'content-type': 'text/xml' }, text: '<Response/>' },
  // Many times the size of Twilio's longest message. The limit is low because a form is sorted before it is verified.
  maxBytes: 64 * 1024,
});

/** Twilio signs the URL with or without its port, as it was typed or as a browser normalizes it. We try them all. */
function signedTexts({ url, headers, body }: Delivery): Bytes[] {
  if (!URL.canParse(url)) return [];
  const { href, searchParams } = new URL(url);
  const fields = searchParams.has('bodySHA256') ? '' : sortedFields(formOf(headers, body));
  // A body that is neither a form nor hashed into the URL is not signed at all.
  if (fields === undefined) return [];
  const urls = [url, href].flatMap((one) => [withoutPort(one), withPort(one)]);
  return [...new Set(urls)].map((one) => Uint8Array.from(new TextEncoder().encode(one + fields)));
}

function sortedFields(form: URLSearchParams | undefined): string | undefined {
  if (form === undefined) return undefined;
  const fields = fieldsOf(form);
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
