import type { Provider, Signature } from './types.ts';

/** Standard Webhooks under the header names that came before it. */
export const svixSymmetric = {
  signature: 'header:svix-signature#v1',
  encoding: 'base64',
  key: 'base64',
  keyPrefix: 'whsec_',
  signed: '{header:svix-id}.{header:svix-timestamp}.{body}',
  timestamp: { at: 'header:svix-timestamp', unit: 's', windowSeconds: 300 },
} as const satisfies Signature;

const svixAsymmetric = {
  ...svixSymmetric,
  algorithm: 'ed25519',
  signature: 'header:svix-signature#v1a',
  keyPrefix: 'whpk_',
} as const satisfies Signature;

export const svix = {
  name: 'svix',
  docs: 'https://docs.svix.com/receiving/verifying-payloads/how-manual',
  scheme: svixSymmetric,
  otherSchemes: [svixAsymmetric],
  id: { at: '{header:svix-id}', signed: true },
  // What a body holds is up to whoever sends through Svix; these two names are usual.
  type: ['{json:type}', '{json:event_type}'],
  retriesForDays: 2,
} as const satisfies Provider;
