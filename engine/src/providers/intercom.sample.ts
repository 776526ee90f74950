import { type ProviderSample, seconds } from './sample.ts';

export const sample: ProviderSample = {
  types: ['conversation.user.created'],
  id: () => `notif_${crypto.randomUUID()}`,
  body: (id, type, now) => ({
    type: 'notification_event',
    id,
    topic: type,
    created_at: seconds(now),
    delivery_attempts: 1,
    data: { item: { type: 'conversation', id: '1' } },
  }),
};
