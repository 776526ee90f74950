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
    // `created_at` is in seconds. An invitee can be marked as a no-show, unmarked and marked again; each mark has a URI.
    // Other objects, such as types of events, can be updated twice in one second. An invitee can't be booked or
    // cancelled twice, so whatever else changes about it before a retry must not make another event.
    at: [
      '{json:event}:{json:payload.no_show.uri}:{json?:created_at}',
      '{json:event}:{json:payload.uri}:{json:payload.event}:{json?:created_at}',
      '{json:event}:{json:payload.uri}:{json?:created_at}:{json?:payload.updated_at}',
    ],
    signed: true,
  },
  type: ['{json:event}'],
  occurredAt: { at: 'json:created_at', unit: 'iso' },
  retriesForDays: 1,
});
