import type { Signature } from './types.ts';

// In a file of their own: if they were in Svix's, Clerk's would bring all of Svix's data into the Worker.

/**
 * Standard Webhooks with a shared secret. The id is signed. Each attempt is signed with its own time, so 300 s are
 * enough.
 */
export const symmetric = {
  signature: 'header:webhook-signature#v1',
  encoding: 'base64',
  key: 'base64',
  keyPrefix: 'whsec_',
  signed: '{header:webhook-id}.{header:webhook-timestamp}.{body}',
  timestamp: { at: 'header:webhook-timestamp', unit: 's', windowSeconds: 300 },
} as const satisfies Signature;

/** Standard Webhooks with a key pair. The prefix is required: it tells a public key from a shared secret. */
export const asymmetric = {
  ...symmetric,
  algorithm: 'ed25519',
  signature: 'header:webhook-signature#v1a',
  keyPrefix: 'whpk_',
} as const satisfies Signature;

/** Svix: the same, under the header names that it used before Standard Webhooks. */
export const svixSymmetric = {
  ...symmetric,
  signature: 'header:svix-signature#v1',
  signed: '{header:svix-id}.{header:svix-timestamp}.{body}',
  timestamp: { at: 'header:svix-timestamp', unit: 's', windowSeconds: 300 },
} as const satisfies Signature;

export const svixAsymmetric = {
  ...svixSymmetric,
  algorithm: 'ed25519',
  signature: 'header:svix-signature#v1a',
  keyPrefix: 'whpk_',
} as const satisfies Signature;
