import { type ProviderSample, seconds, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['messages', 'feed'],
  id: () => `wamid.${short()}`,
  body: (id, type, now) => {
    const message = {
      id,
      from: '15005550009',
      timestamp: String(seconds(now)),
      type: 'text',
      text: { body: 'Hello' },
    };
    const value = { messaging_product: 'whatsapp', metadata: { phone_number_id: '1' }, messages: [message] };
    if (type === 'messages') {
      return { object: 'whatsapp_business_account', entry: [{ id: '1', changes: [{ field: type, value }] }] };
    }
    return {
      object: 'page',
      entry: [{ id: '1', time: seconds(now), changes: [{ field: type, value: { post: id } }] }],
    };
  },
};
