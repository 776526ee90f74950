import type { Provider } from './types.ts';

export const standardwebhooks = {
  name: 'standardwebhooks',
  docs: 'https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md',
  scheme: {
    signature: 'header:webhook-signature#v1',
    encoding: 'base64',
    key: 'base64',
    keyPrefix: 'whsec_',
    signed: '{header:webhook-id}.{header:webhook-timestamp}.{body}',
    timestamp: { at: 'header:webhook-timestamp', unit: 's', windowSeconds: 300 },
  },
  id: { at: '{header:webhook-id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:timestamp', unit: 'iso' },
} as const satisfies Provider;
