import { defineProvider } from './define.ts';

export const notion = defineProvider({
  name: 'notion',
  docs: 'https://developers.notion.com/reference/webhooks',
  scheme: { signature: 'header:x-notion-signature#sha256', encoding: 'hex', key: 'utf8', signed: '{body}' },
  // The body counts the attempts, so its hash differs on every attempt.
  id: { at: '{json:id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:timestamp', unit: 'iso' },
  handshakes: [
    {
      method: 'POST',
      when: [{ at: 'json:verification_token', like: /^[\w.~-]{16,256}$/ }],
      handsOver: 'json:verification_token',
      reply: { status: 200 },
    },
  ],
  retriesForDays: 1,
});
