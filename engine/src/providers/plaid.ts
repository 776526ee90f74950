import { jose } from '../verify/jose.ts';
import { defineProvider } from './define.ts';

export const plaid = defineProvider({
  name: 'plaid',
  docs: 'https://plaid.com/docs/api/webhooks/webhook-verification/',
  scheme: jose({
    signature: 'header:plaid-verification',
    algorithm: 'ES256',
    // The token contains the key's id. Plaid's API returns the key only to its customers, so these credentials are
    // needed.
    settings: { clientId: /^\w+$/, secret: /^\w+$/, environment: /^(production|sandbox)$/ },
    keys: {
      post: 'https://{environment}.plaid.com/webhook_verification_key/get',
      body: { client_id: '{clientId}', secret: '{secret}', key_id: '{kid}' },
      at: 'key',
    },
    bodyHash: 'jws:request_body_sha256',
    timestamp: { at: 'jws:iat', unit: 's', windowSeconds: 300 },
  }),
  // There is no id, and the same event may happen twice. Each attempt has its own time, so a retry counts as another
  // event.
  id: { at: '{jws:iat}:{sha256}', signed: true },
  type: ['{json:webhook_type}.{json:webhook_code}'],
  retriesForDays: 1,
});
