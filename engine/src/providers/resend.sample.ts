import { PERSON, type ProviderSample, short, svixHeaders } from './sample.ts';

export const sample: ProviderSample = {
  types: ['email.delivered', 'email.bounced'],
  id: () => `msg_${short()}`,
  headers: svixHeaders,
  body: (id, type, now) => ({
    type,
    created_at: now.toISOString(),
    data: { email_id: id.slice(4), to: [PERSON], subject: 'A sample' },
  }),
};
