import { defineProvider } from './define.ts';
import { asymmetric, symmetric } from './shared-schemes.ts';

export const standardwebhooks = defineProvider({
  name: 'standardwebhooks',
  docs: 'https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md',
  scheme: symmetric,
  otherSchemes: [asymmetric],
  id: { at: '{header:webhook-id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:timestamp', unit: 'iso' },
  retriesForDays: 4,
});
