import { type ProviderSample, short } from './sample.ts';

export const sample: ProviderSample = {
  types: ['delivered', 'sent'],
  id: () => `SM${short()}`,
  body: (id, type) => ({ MessageSid: id, MessageStatus: type, From: '+15005550006', To: '+15005550009' }),
};
