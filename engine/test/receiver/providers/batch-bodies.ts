import { whatsappBatch } from '../../../src/providers/meta.proof.ts';
import { sendgridBatch } from '../../../src/providers/sendgrid.proof.ts';
import { proofs } from '../../../workshop/proofs.ts';

interface Body {
  readonly provider: string;
  readonly make: () => string;
  readonly events: number;
}

/** The largest batches that providers document. */
export const documented: Readonly<Record<string, Body>> = Object.fromEntries(
  Object.entries(proofs).flatMap(([provider, { largestBatch }]) =>
    largestBatch ? [[largestBatch.what, { provider, ...largestBatch }]] : [],
  ),
);

/** Larger than documented, and still accepted. */
export const accepted: Readonly<Record<string, Body>> = {
  'one change with 2,000 messages from 2,000 people': {
    provider: 'meta',
    events: 2000,
    make: () => whatsappBatch(2000, 'Hi'),
  },
  'exactly as many events as the limit': {
    provider: 'sendgrid',
    events: 5000,
    make: () => sendgridBatch(4999).replace('[', '[{},'),
  },
};

export const refused: Readonly<Record<string, Omit<Body, 'events'> & { readonly reason: string }>> = {
  '340,000 empty objects': {
    provider: 'sendgrid',
    reason: 'too many events',
    make: () => `[${Array(340_000).fill('{}').join()}]`,
  },
  '340,000 lines': {
    provider: 'auth0',
    reason: 'too many events',
    make: () => '{}\n'.repeat(340_000),
  },
  '3 MB that become 12 MB in the claim': {
    provider: 'meta',
    reason: 'events too large',
    make: () => whatsappBatch(1000, '"'.repeat(1400)),
  },
};

/**
 * Close to the limit in bytes, and twice as large in memory: one character outside Latin-1 makes every text two bytes
 * wide.
 */
export const largest: Body = {
  provider: 'meta',
  events: 1000,
  make: () => whatsappBatch(1000, 'xxxxx"'.repeat(400), '😀'),
};
