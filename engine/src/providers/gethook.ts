import { defineProvider } from './define.ts';

export const gethook = defineProvider({
  name: 'gethook',
  docs: 'In-house sender. Its signature is not documented. We assume hex HMAC-SHA256 of the body in X-GetHook-Signature.',
  scheme: {
    signature: 'header:x-gethook-signature',
    encoding: 'hex',
    key: 'utf8',
    signed: '{body}',
  },
  // Some senders behind GetHook set unreliable ids. For these, set `dedupe: 'content'` on the source, so that an event
  // is recognized by its content.
  id: { at: '{json:id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:created_at', unit: 'iso' },
});
