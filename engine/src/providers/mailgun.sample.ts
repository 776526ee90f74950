import { PERSON, type ProviderSample, seconds, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['delivered', 'failed'],
  id: short,
  body: (id, type, now) => ({
    signature: { timestamp: String(seconds(now)), token: `${short()}${short()}`, signature: '{signature}' },
    'event-data': { id, event: type, timestamp: now.getTime() / 1000, recipient: PERSON },
  }),
};
