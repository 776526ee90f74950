import { defineProvider } from './define.ts';

export const auth0 = defineProvider({
  name: 'auth0',
  docs: 'https://auth0.com/docs/customize/log-streams/custom-log-streams',
  // The stream's authorization token, as it is typed there.
  scheme: { token: 'header:authorization' },
  // Every format that can be chosen: JSON Array, JSON Object, JSON Lines.
  batch: { each: ['*'], lines: true },
  // The names are not in its reference; an entry without this id is claimed by its own content.
  id: { at: ['{json:log_id}', '{sha256}'], signed: false },
  type: ['{json:data.type}'],
  occurredAt: { at: 'json:data.date', unit: 'iso' },
});
