import { defineProvider } from './define.ts';

export const auth0 = defineProvider({
  name: 'auth0',
  docs: 'https://auth0.com/docs/customize/log-streams/custom-log-streams',
  // The authorization token of the log stream, exactly as it was typed in Auth0's settings.
  scheme: { token: 'header:authorization' },
  // Accepts all formats that Auth0 offers: JSON Array, JSON Object and JSON Lines.
  batch: { each: ['*'], lines: true },
  // Auth0's reference doesn't list the property names. For an entry without these ids, the hash of its content is the
  // id.
  id: { at: ['{json:log_id}', '{json:data.log_id}'], signed: false },
  type: ['{json:data.type}'],
  occurredAt: { at: 'json:data.date', unit: 'iso' },
  retriesForDays: 7,
});
