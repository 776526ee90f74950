import { keyBytes } from '../verify/keys.ts';

/**
 * The headers of a Standard Webhook, signed if there is a secret. `undefined` if the secret is malformed.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export async function standardHeaders(
  id: string,
  body: string,
  now: Date,
  secret: string | undefined,
): Promise<Record<string, string> | undefined> {
  const timestamp = String(Math.floor(now.getTime() / 1000));
  const unsigned = { 'content-type': 'application/json', 'webhook-id': id, 'webhook-timestamp': timestamp };
  if (secret === undefined) return unsigned;
  const bytes = keyBytes(secret, { key: 'base64', keyPrefix: 'whsec_' });
  if (bytes === undefined) return undefined;
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const signature = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(`${id}.${timestamp}.${body}`));
  return { ...unsigned, 'webhook-signature': `v1,${btoa(String.fromCharCode(...new Uint8Array(signature)))}` };
}
