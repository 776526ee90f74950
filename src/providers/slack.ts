import { defineProvider } from './define.ts';

export const slack = defineProvider({
  name: 'slack',
  docs: 'https://docs.slack.dev/authentication/verifying-requests-from-slack',
  scheme: {
    signature: 'header:x-slack-signature#v0',
    encoding: 'hex',
    key: 'utf8',
    signed: 'v0:{header:x-slack-request-timestamp}:{body}',
    timestamp: { at: 'header:x-slack-request-timestamp', unit: 's', windowSeconds: 300 },
  },
  // Commands and buttons have no id, and want an answer at once: they are not for a queue, and refused with 400.
  // Only the news that there were too many events (app_rate_limited) comes without an id.
  id: { at: ['{json:event_id}', '{json:type}:{json:minute_rate_limited}:{sha256}'], signed: true },
  type: ['{json:event.type}', '{json:type}'],
  occurredAt: { at: 'json:event_time', unit: 's' },
  handshakes: [
    {
      method: 'POST',
      signed: true,
      when: [
        { at: 'json:type', is: 'url_verification' },
        { at: 'json:challenge', like: /^[\w.~-]{1,256}$/ },
      ],
      reply: { status: 200, text: '{json:challenge}' },
    },
  ],
});
