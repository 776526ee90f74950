import type { ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['charge:confirmed'],
  body: (id, type, now) => ({
    id: 'delivery-sample',
    attempt_number: 1,
    event: { id, type, created_at: now.toISOString(), data: { code: 'SAMPLE01' } },
  }),
};
