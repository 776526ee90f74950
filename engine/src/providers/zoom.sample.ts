import type { ProviderSample } from './sample.ts';

export const sample: ProviderSample = {
  types: ['meeting.started', 'meeting.ended'],
  body: (id, type, now) => ({
    event: type,
    event_ts: now.getTime(),
    payload: { account_id: 'account-sample', object: { id: '1000000001', uuid: id, topic: 'A sample' } },
  }),
};
