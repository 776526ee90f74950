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
  id: {
    at: [
      // An invitee. `created_at` is in seconds, and nothing happens to an invitee twice in one second. A retry may show
      // later changes of the invitee, so no other fields are part of the id.
      '{json:event}:{json:payload.uri}:{json:payload.event}:{json?:created_at}',
      // Other objects, such as event types, can be updated twice in one second.
      '{json:event}:{json:payload.uri}:{json?:created_at}:{json?:payload.updated_at}',
    ],
    signed: true,
  },
  type: ['{json:event}'],
  occurredAt: { at: 'json:created_at', unit: 'iso' },
  retriesForDays: 1,
});
