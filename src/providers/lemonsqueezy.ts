import { defineProvider } from './define.ts';

export const lemonsqueezy = defineProvider({
  name: 'lemonsqueezy',
  docs: 'https://docs.lemonsqueezy.com/help/webhooks/signing-requests',
  scheme: { signature: 'header:x-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
  // There is no id. The event's name, its object and the time of the object's last change identify it.
  id: { at: '{json:meta.event_name}:{json:data.type}:{json:data.id}:{json:data.attributes.updated_at}', signed: true },
  type: ['{json:meta.event_name}'],
  occurredAt: { at: 'json:data.attributes.updated_at', unit: 'iso' },
});
