import { defineProvider } from './define.ts';

export const lemonsqueezy = defineProvider({
  name: 'lemonsqueezy',
  docs: 'https://docs.lemonsqueezy.com/help/webhooks/signing-requests',
  scheme: { signature: 'header:x-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
  // The time of the object's last change is not part of the id, because it has no fractions of a second.
  id: { at: '{json:meta.webhook_id}:{json:meta.event_name}:{json:data.id}', signed: true },
  type: ['{json:meta.event_name}'],
  occurredAt: { at: 'json:data.attributes.updated_at', unit: 'iso' },
});
