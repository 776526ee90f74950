const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

/** One change with as many people as messages, as WhatsApp sends it. */
export function whatsApp(count: number, text: string, name = 'Person'): string {
  const value = {
    messaging_product: 'whatsapp',
    metadata: { phone_number_id: '7' },
    contacts: times(count, (n) => ({ profile: { name: `${name} ${n}` }, wa_id: `4915${n}` })),
    messages: times(count, (n) => ({
      from: `4915${n}`,
      id: `wamid.${n}`,
      timestamp: '1770000000',
      type: 'text',
      text: { body: text },
    })),
  };
  const entry = [{ id: '1', changes: [{ field: 'messages', value }] }];
  return JSON.stringify({ object: 'whatsapp_business_account', entry });
}

/** About 200 bytes for each event: the smallest that SendGrid sends. */
export function sendgrid(count: number): string {
  const event = (n: number) => ({
    email: `person-${n}@example.com`,
    timestamp: 1_770_000_000,
    event: 'delivered',
    sg_event_id: `event-${n}`,
    sg_message_id: `message-${n}.filter0001.12345`,
    'smtp-id': `<${n}@example.com>`,
    response: '250 OK',
  });
  return JSON.stringify(times(count, event));
}

interface Body {
  readonly provider: string;
  readonly make: () => string;
  readonly events: number;
}

/** The largest batches that providers document. */
export const documented: Readonly<Record<string, Body>> = {
  '3 MB of 1,000 messages from 1,000 people': {
    provider: 'meta',
    events: 1000,
    make: () => whatsApp(1000, 'x'.repeat(2800)),
  },
  '768 KB of 3,700 events': { provider: 'sendgrid', events: 3700, make: () => sendgrid(3700) },
};

/** Larger than documented, and still accepted. */
export const accepted: Readonly<Record<string, Body>> = {
  'one change with 2,000 messages from 2,000 people': {
    provider: 'meta',
    events: 2000,
    make: () => whatsApp(2000, 'Hi'),
  },
  'exactly as many events as the limit': {
    provider: 'sendgrid',
    events: 5000,
    make: () => sendgrid(4999).replace('[', '[{},'),
  },
};

export const refused: Readonly<Record<string, Omit<Body, 'events'> & { readonly reason: string }>> = {
  '340,000 empty objects': {
    provider: 'sendgrid',
    reason: 'too many events',
    make: () => `[${times(340_000, () => '{}').join()}]`,
  },
  '340,000 lines': {
    provider: 'auth0',
    reason: 'too many events',
    make: () => '{}\n'.repeat(340_000),
  },
  '3 MB that become 12 MB in the claim': {
    provider: 'meta',
    reason: 'events too large',
    make: () => whatsApp(1000, '"'.repeat(1400)),
  },
};

/**
 * Close to the limit in bytes, and twice as large in memory: one character outside Latin-1 makes every text two bytes
 * wide.
 */
export const largest: Body = { provider: 'meta', events: 1000, make: () => whatsApp(1000, 'xxxxx"'.repeat(400), '😀') };
