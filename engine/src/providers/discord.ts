import { defineProvider } from './define.ts';

export const discord = defineProvider({
  name: 'discord',
  docs: 'https://discord.com/developers/docs/events/webhook-events',
  scheme: {
    algorithm: 'ed25519',
    signature: 'header:x-signature-ed25519',
    encoding: 'hex',
    // The application's public key.
    key: 'hex',
    signed: '{header:x-signature-timestamp}{body}',
    // Discord documents no tolerance and retries for at most ten minutes.
    timestamp: { at: 'header:x-signature-timestamp', unit: 's', windowSeconds: 900 },
  },
  // Events have no id, but their body contains the time. Interactions are not supported, because they need an immediate
  // answer.
  id: { at: '{sha256}', signed: true },
  type: ['{json:event.type}'],
  occurredAt: { at: 'json:event.timestamp', unit: 'iso' },
  // Discord also sends wrong signatures on purpose, and removes a URL that doesn't refuse them.
  handshakes: [{ method: 'POST', signed: true, when: [{ at: 'json:type', is: '0' }], reply: { status: 204 } }],
  ack: { status: 204 },
});
