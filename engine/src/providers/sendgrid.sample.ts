import { PERSON, type ProviderSample, seconds, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['delivered', 'bounce'],
  id: short,
  body: (id, type, now) => [
    { email: PERSON, event: type, sg_event_id: id, sg_message_id: 'sample.0', timestamp: seconds(now) },
    { email: PERSON, event: 'processed', sg_event_id: `${id}-2`, sg_message_id: 'sample.0', timestamp: seconds(now) },
  ],
};
