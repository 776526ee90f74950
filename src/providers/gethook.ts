import { defineProvider } from './define.ts';

export const gethook = defineProvider({
  name: 'gethook',
  docs: 'In-house sender. Its signature header is undocumented: hex HMAC-SHA256 of the body in X-GetHook-Signature is our assumption.',
  scheme: {
    signature: 'header:x-gethook-signature',
    encoding: 'hex',
    key: 'utf8',
    signed: '{body}',
  },
  // Some upstreams behind GetHook give inconsistent ids: such a source sets `dedupe: 'content'`.
  id: { at: '{json:id}', signed: true },
  type: ['{json:type}'],
  occurredAt: { at: 'json:created_at', unit: 'iso' },
});
