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
  // Slash commands and buttons have no id and need an immediate answer, so they are not supported and are answered 400.
  // The only event without an id is `app_rate_limited`.
  id: { at: '{json:event_id}', signed: true },
  type: ['{json:event.type}', '{json:type}'],
  occurredAt: { at: 'json:event_time', unit: 's' },
  retriesForDays: 1,
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
