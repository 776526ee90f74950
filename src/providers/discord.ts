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
    // Retried for at most ten minutes; no tolerance is documented.
    timestamp: { at: 'header:x-signature-timestamp', unit: 's', windowSeconds: 900 },
  },
  // No id; what an event says includes its time. Interactions want their answer at once, and are not for a queue.
  id: { at: '{sha256}', signed: true },
  type: ['{json:event.type}'],
  occurredAt: { at: 'json:event.timestamp', unit: 'iso' },
  // Discord also sends wrong signatures on purpose, and takes an address that doesn't refuse them off its list.
  handshakes: [{ method: 'POST', signed: true, when: [{ at: 'json:type', is: '0' }], reply: { status: 204 } }],
  ack: { status: 204 },
});
