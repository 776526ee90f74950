import { defineProvider } from './define.ts';

export const hubspotV3 = defineProvider({
  name: 'hubspot-v3',
  docs: 'https://developers.hubspot.com/docs/apps/legacy-apps/authentication/validating-requests',
  scheme: {
    signature: 'header:x-hubspot-signature-v3',
    encoding: 'base64',
    key: 'utf8',
    // The URL as configured in HubSpot. If the Worker sees a different URL, set the source's `url`.
    signed: '{method}{url}{body}{header:x-hubspot-request-timestamp}',
    timestamp: { at: 'header:x-hubspot-request-timestamp', unit: 'ms', windowSeconds: 300 },
  },
  batch: { each: ['*'] },
  // HubSpot doesn't promise that an eventId is unique. A hash can't be the id, because the body counts the attempts.
  // Two accounts may have equal object ids. An association has no objectId, and marking one as primary causes two
  // messages.
  id: {
    at: '{json:eventId}:{json?:portalId}:{json:subscriptionId}:{json?:objectId}:{json?:occurredAt}:{json?:propertyName}:{json?:messageId}:{json?:associationType}{json?:associationTypeId}:{json?:fromObjectId}:{json?:toObjectId}:{json?:isPrimaryAssociation}:{json?:associationRemoved}',
    signed: true,
  },
  type: ['{json:subscriptionType}', '{json:eventType}'],
  occurredAt: { at: 'json:occurredAt', unit: 'ms' },
  retriesForDays: 1,
});
