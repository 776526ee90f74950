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
  // A deploy is built, ready, locked and unlocked under one id. A form's submission has neither a state nor a later time.
  id: { at: '{json:id}:{json?:state}:{json?:locked}:{json?:updated_at}', signed: true },
  // Not signed. The body doesn't say it.
  type: ['{header:x-netlify-event}'],
  occurredAt: { at: ['json:updated_at', 'json:created_at'], unit: 'iso' },
});
