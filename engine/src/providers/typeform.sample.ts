import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['form_response'],
  id: short,
  body: (id, type, now) => ({
    event_id: id,
    event_type: type,
    form_response: { form_id: 'sample', submitted_at: now.toISOString(), answers: [] },
  }),
};
