import { symmetric } from './standardwebhooks.ts';
import type { Provider, Signature } from './types.ts';

const { keyPrefix: _, ...bare } = symmetric;
const asItIs = { ...bare, key: 'utf8' } as const satisfies Signature;

export const openai = {
  name: 'openai',
  docs: 'https://platform.openai.com/docs/guides/webhooks',
  scheme: symmetric,
  // Its SDK decodes a secret behind whsec_, and takes any other as it is.
  otherSchemes: [asItIs],
  // The body has an id too (evt_…), but the one in the header is what names the delivery on every attempt.
  id: { at: '{header:webhook-id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:created_at', unit: 's' },
  retriesForDays: 3,
} as const satisfies Provider;
