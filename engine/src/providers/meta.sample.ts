import { type ProviderSample, seconds, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['whatsapp_business_account.messages', 'page.feed'],
  id: () => `wamid.${short()}`,
  body: (id, type, now) => {
    const [object, field] = type.split('.');
    const message = {
      id,
      from: '15005550009',
      timestamp: String(seconds(now)),
      type: 'text',
      text: { body: 'Hello' },
    };
    const value = { messaging_product: 'whatsapp', metadata: { phone_number_id: '1' }, messages: [message] };
    if (field === 'messages') return { object, entry: [{ id: '1', changes: [{ field, value }] }] };
    return { object, entry: [{ id: '1', time: seconds(now), changes: [{ field, value: { post: id } }] }] };
  },
};
