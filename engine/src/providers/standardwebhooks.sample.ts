import { type ProviderSample, short, standardHeaders } from './sample.ts';

export const sample: ProviderSample = {
  types: ['invoice.created'],
  id: () => `msg_${short()}`,
  headers: standardHeaders,
  body: (id, type, now) => ({ type, timestamp: now.toISOString(), data: { id: `obj_${id.slice(4)}` } }),
};
