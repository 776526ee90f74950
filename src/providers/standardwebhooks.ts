import type { Provider, Signature } from './types.ts';

/** Signs the id too. Every attempt is signed anew, so that the window also fits the last of them. */
export const symmetric = {
  signature: 'header:webhook-signature#v1',
  encoding: 'base64',
  key: 'base64',
  keyPrefix: 'whsec_',
  signed: '{header:webhook-id}.{header:webhook-timestamp}.{body}',
  timestamp: { at: 'header:webhook-timestamp', unit: 's', windowSeconds: 300 },
} as const satisfies Signature;

/** Its prefix is demanded: else a shared secret could be taken for a public key, and the other way round. */
const asymmetric = {
  ...symmetric,
  algorithm: 'ed25519',
  signature: 'header:webhook-signature#v1a',
  keyPrefix: 'whpk_',
} as const satisfies Signature;

export const standardwebhooks = {
  name: 'standardwebhooks',
  docs: 'https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md',
  scheme: symmetric,
  otherSchemes: [asymmetric],
  id: { at: '{header:webhook-id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:timestamp', unit: 'iso' },
  retriesForDays: 4,
} as const satisfies Provider;
