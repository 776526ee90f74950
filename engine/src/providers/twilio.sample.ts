import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['message.delivered', 'message.sent'],
  id: () => `SM${short()}`,
  body: (id) => ({ MessageSid: id, From: '+15005550006', To: '+15005550009' }),
};
