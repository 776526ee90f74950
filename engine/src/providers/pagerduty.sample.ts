import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['incident.triggered', 'incident.resolved'],
  id: short,
  body: (id, type, now) => ({
    event: {
      id,
      event_type: type,
      resource_type: 'incident',
      occurred_at: now.toISOString(),
      data: { id: 'P0SAMPLE' },
    },
  }),
};
