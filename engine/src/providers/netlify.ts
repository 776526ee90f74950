import { jose } from '../verify/jose.ts';
import { defineProvider } from './define.ts';

export const netlify = defineProvider({
  name: 'netlify',
  docs: 'https://docs.netlify.com/deploy/deploy-notifications/#payload-signature',
  scheme: jose({
    signature: 'header:x-webhook-signature',
    algorithm: 'HS256',
    keys: { secret: true },
    claims: [{ at: 'jws:iss', is: 'netlify' }],
    bodyHash: 'jws:sha256',
  }),
  // A deploy keeps one id while it is built, ready, locked and unlocked. A form submission has neither a state nor an
  // update time.
  id: { at: '{json:id}:{json?:state}:{json?:locked}:{json?:updated_at}', signed: true },
  // This header is not signed, but the body doesn't contain the type.
  type: ['{header:x-netlify-event}'],
  occurredAt: { at: ['json:updated_at', 'json:created_at'], unit: 'iso' },
});
