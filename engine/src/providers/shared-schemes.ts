import type { Signature } from './types.ts';

// These are in a separate file so that Clerk's file doesn't import all of Svix's data into the Worker.

/** Standard Webhooks with a shared secret. Each attempt is signed with its own time, so 300 s are enough. */
export const symmetric = {
  signature: 'header:webhook-signature#v1',
  encoding: 'base64',
  key: 'base64',
  keyPrefix: 'whsec_',
  signed: '{header:webhook-id}.{header:webhook-timestamp}.{body}',
  timestamp: { at: 'header:webhook-timestamp', unit: 's', windowSeconds: 300 },
} as const satisfies Signature;

/**
 * Standard Webhooks with a key pair. The prefix is required, because it distinguishes a public key from a shared
 * secret.
 */
export const asymmetric = {
  ...symmetric,
  algorithm: 'ed25519',
  signature: 'header:webhook-signature#v1a',
  keyPrefix: 'whpk_',
} as const satisfies Signature;

/** The same scheme with the header names that Svix used before Standard Webhooks. */
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
