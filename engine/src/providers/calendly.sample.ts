import { PERSON, type ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['invitee.created', 'invitee.canceled'],
  body: (id, type, now) => ({
    event: type,
    created_at: now.toISOString(),
    payload: { uri: `https://api.calendly.com/scheduled_events/sample/invitees/${id}`, email: PERSON },
  }),
};
