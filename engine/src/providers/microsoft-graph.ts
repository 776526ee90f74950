import { defineProvider } from './define.ts';

export const microsoftGraph = defineProvider({
  name: 'microsoft-graph',
  docs: 'https://learn.microsoft.com/graph/change-notifications-delivery-webhooks',
  // The `clientState` of the subscription. One delivery may be for several subscriptions: give them all the same.
  scheme: { token: 'json:clientState', perItem: true },
  batch: { each: ['value.*'] },
  // The id is optional. Two changes of one resource may look the same without it, and a handler fetches the resource anyway,
  // so every delivery is then an event.
  id: { at: ['{json:subscriptionId}:{json:id}', '{random}'], signed: false, bodiesRepeat: true },
  // A change, or what becomes of the subscription.
  type: ['{json:changeType}', '{json:lifecycleEvent}'],
  handshakes: [
    {
      method: 'POST',
      // Opaque, and "never any value containing HTML or JavaScript". Today it is a sentence, so spaces are allowed.
      when: [{ at: 'query:validationToken', like: /^[\w .:+/=~-]{1,512}$/ }],
      reply: { status: 200, text: '{query:validationToken}' },
    },
  ],
});
