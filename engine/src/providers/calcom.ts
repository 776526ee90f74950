import { defineProvider } from './define.ts';

export const calcom = defineProvider({
  name: 'calcom',
  docs: 'https://cal.com/docs/developing/guides/automation/webhooks',
  // A webhook without a secret sends the text no-secret-provided in this header. It is refused like a wrong signature.
  scheme: { signature: 'header:x-cal-signature-256', encoding: 'hex', key: 'utf8', signed: '{body}' },
  // Some events don't belong to a booking: the end of a meeting, a form and a test of the URL have no uid.
  id: { at: '{json:triggerEvent}:{json:payload.uid}:{json:createdAt}', signed: true },
  type: ['{json:triggerEvent}'],
  occurredAt: { at: 'json:createdAt', unit: 'iso' },
});
