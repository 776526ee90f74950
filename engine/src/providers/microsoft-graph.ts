import { defineProvider } from './define.ts';

export const microsoftGraph = defineProvider({
  name: 'microsoft-graph',
  docs: 'https://learn.microsoft.com/graph/change-notifications-delivery-webhooks',
  // The `clientState` of the subscription. One delivery may be for several subscriptions, so give them all the same
  // value.
  scheme: { token: 'json:clientState', perItem: true },
  batch: { each: ['value.*'] },
  // The id is optional. Without it, two changes of one resource may look the same, so every delivery counts as a new
  // event. A handler fetches the resource anyway.
  id: { at: ['{json:subscriptionId}:{json:id}', '{random}'], signed: false, bodiesRepeat: true },
  // A change of a resource, or an event in the life of the subscription.
  type: ['{json:changeType}', '{json:lifecycleEvent}'],
  handshakes: [
    {
      method: 'POST',
      // The token is opaque, and "never any value containing HTML or JavaScript". Today it is a sentence, so spaces are
      // allowed.
      when: [{ at: 'query:validationToken', like: /^[\w .:+/=~-]{1,512}$/ }],
      reply: { status: 200, text: '{query:validationToken}' },
    },
  ],
});
