import { defineProvider } from './define.ts';

export const twitch = defineProvider({
  name: 'twitch',
  docs: 'https://dev.twitch.tv/docs/eventsub/handling-webhook-events/',
  scheme: {
    signature: 'header:twitch-eventsub-message-signature#sha256',
    encoding: 'hex',
    key: 'utf8',
    // The three parts have no separator, but only one split gives a complete time in the middle and JSON after it.
    signed: '{header:twitch-eventsub-message-id}{header:twitch-eventsub-message-timestamp}{body}',
    // Twitch recommends ten minutes.
    timestamp: { at: 'header:twitch-eventsub-message-timestamp', unit: 'iso', windowSeconds: 600 },
  },
  id: { at: '{header:twitch-eventsub-message-id}', signed: true },
  // For example `notification.stream.online`, or `revocation.stream.online` if Twitch has ended the subscription.
  type: ['{header:twitch-eventsub-message-type}.{json:subscription.type}'],
  occurredAt: { at: 'header:twitch-eventsub-message-timestamp', unit: 'iso' },
  handshakes: [
    {
      method: 'POST',
      signed: true,
      when: [
        { at: 'header:twitch-eventsub-message-type', is: 'webhook_callback_verification' },
        { at: 'json:challenge', like: /^[\w.~-]{1,256}$/ },
      ],
      reply: { status: 200, text: '{json:challenge}' },
    },
  ],
});
