import { jose } from '../verify/jose.ts';
import { defineProvider } from './define.ts';

export const kinde = defineProvider({
  name: 'kinde',
  docs: 'https://docs.kinde.com/integrate/webhooks/about-webhooks/',
  scheme: jose({
    signature: 'body:text',
    algorithm: 'RS256',
    settings: { issuer: /^https:\/\/[a-z0-9.-]+$/ },
    keys: { jwks: '{issuer}/.well-known/jwks.json' },
    // The same keys sign your users' tokens, which lack these claims.
    claims: [{ at: 'jws:event_id' }, { at: 'jws:type' }, { at: 'jws:source' }],
    isEvent: true,
  }),
  id: { at: '{json:event_id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: ['json:event_timestamp', 'json:timestamp'], unit: 'iso' },
  retriesForDays: 2,
});
