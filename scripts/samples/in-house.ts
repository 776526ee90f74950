import { randomUUID } from 'node:crypto';
import { PERSON, type Samples, short } from './sample.ts';

export const inHouse: Samples = {
  sesmetric: {
    types: ['delivery', 'bounce'],
    id: randomUUID,
    headers: { 'x-sesmetric-timestamp': '{timestamp}', 'x-sesmetric-signature': '{signature}' },
    body: (id, type, now) => ({ id, type, created_at: now.toISOString(), email: PERSON }),
  },
  awardee: {
    types: ['nomination.created'],
    id: randomUUID,
    headers: { 'x-awardee-delivery': '{id}', 'x-awardee-event': '{type}', 'x-awardee-signature': '{signature}' },
    body: () => ({ nomination: { id: 'nom_sample', category: 'template of the year' } }),
  },
  gethook: {
    types: ['record.updated'],
    id: randomUUID,
    headers: { 'x-gethook-signature': '{signature}' },
    body: (id, type, now) => ({ id, type, created_at: now.toISOString(), record: 'rec_sample' }),
  },
  standardwebhooks: {
    types: ['invoice.created'],
    id: () => `msg_${short()}`,
    headers: { 'webhook-id': '{id}', 'webhook-timestamp': '{timestamp}', 'webhook-signature': 'v1,{signature}' },
    body: (id, type, now) => ({ type, timestamp: now.toISOString(), data: { id: `obj_${id.slice(4)}` } }),
  },
};
