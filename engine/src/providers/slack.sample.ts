import { type ProviderSample, seconds, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['message', 'app_mention'],
  id: () => `Ev${short()}`,
  body: (id, type, now) => ({
    type: 'event_callback',
    team_id: 'T0SAMPLE',
    event_id: id,
    event_time: seconds(now),
    event: { type, user: 'U0SAMPLE', text: 'Hello', channel: 'C0SAMPLE' },
  }),
};
