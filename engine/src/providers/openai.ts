import { defineProvider } from './define.ts';
import { symmetric } from './shared-schemes.ts';
import type { Signature } from './types.ts';

const { keyPrefix: _, ...withoutPrefix } = symmetric;
const plainSecret = { ...withoutPrefix, key: 'utf8' } as const satisfies Signature;

export const openai = defineProvider({
  name: 'openai',
  docs: 'https://platform.openai.com/docs/guides/webhooks',
  scheme: symmetric,
  // OpenAI's SDK decodes a secret that begins with whsec_, and uses any other secret as plain text.
  otherSchemes: [plainSecret],
  // The body has an id as well (evt_…), but only the header's id stays the same on every attempt.
  id: { at: '{header:webhook-id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:created_at', unit: 's' },
  retriesForDays: 3,
});
