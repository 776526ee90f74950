import { defineProvider } from './define.ts';

export const calendly = defineProvider({
  name: 'calendly',
  docs: 'https://developer.calendly.com/api-docs/4c305798a61d3-webhook-signatures',
  scheme: {
    signature: 'header:calendly-webhook-signature#v1',
    encoding: 'hex',
    key: 'utf8',
    signed: '{header:calendly-webhook-signature#t}.{body}',
    timestamp: { at: 'header:calendly-webhook-signature#t', unit: 's', windowSeconds: 300 },
  },
  // An invitee can be marked as a no-show, unmarked and marked again. Only the time distinguishes these events.
  id: { at: '{json:event}:{json:payload.uri}:{json?:created_at}', signed: true },
  type: ['{json:event}'],
  occurredAt: { at: 'json:created_at', unit: 'iso' },
  retriesForDays: 1,
});
