import type { ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['envelope-completed'],
  body: (id, type, now) => ({ event: type, generatedDateTime: now.toISOString(), data: { envelopeId: id } }),
};
