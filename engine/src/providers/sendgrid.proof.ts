import { type Proof, said } from './proof.ts';

/** About 200 bytes for each event: the smallest that SendGrid sends. */
export function sendgridBatch(count: number): string {
  const event = (n: number) => ({
    email: `person-${n}@example.com`,
    timestamp: 1_770_000_000,
    event: 'delivered',
    sg_event_id: `event-${n}`,
    sg_message_id: `message-${n}.filter0001.12345`,
    'smtp-id': `<${n}@example.com>`,
    response: '250 OK',
  });
  return JSON.stringify(Array.from({ length: count }, (_, n) => event(n)));
}

export const proof: Proof = {
  sdk: { sdk: '@sendgrid/eventwebhook', signs: false },
  facts: {
    read: '2026-11-19',
    notFound: ['limit'],
    from: 'twilio.com/docs/sendgrid/for-developers/tracking-events: getting started, event reference',
    signature: said(
      'ecdsa-p256-der base64 at header:x-twilio-email-event-webhook-signature',
      'sendgrid/sendgrid-nodejs packages/eventwebhook/src/eventwebhook.js',
    ),
    covers: said(
      '{header:x-twilio-email-event-webhook-timestamp}{body}',
      'sendgrid/sendgrid-nodejs packages/eventwebhook/src/eventwebhook.js',
    ),
    key: said('base64', 'sendgrid/sendgrid-nodejs packages/eventwebhook/src/eventwebhook.js'),
    window: said('90000 s, in s', 'no tolerance is documented; longer than the retries'),
    id: 'sg_event_id',
    isIdSigned: true,
    type: 'event',
    time: 'timestamp (s)',
    batch: '*',
    limit: 10,
    retries: 24,
    largest: said(768, 'a batch is sent when it has 768 KB, or about every 30 seconds'),
    ends: 'any 2xx; a redirect is a failure',
    same: 'sg_event_id, or the content of an event without one',
    open: 'sendgrid-nodejs#1435 says that sg_event_id may change on a retry. Whether a retry is signed with a new time',
  },
  accepts: { seconds: 25 * 3600 },
  pairs: {
    source: 'twilio.com/docs/sendgrid/for-developers/tracking-events/event (in triggerdotdev/trigger.dev)',
    body: [{ email: 'a@example.com', timestamp: 1752562800, event: 'open', sg_event_id: 'rWVYmVk90MjZJ9iohOBa3w==' }],
    events: [['rWVYmVk90MjZJ9iohOBa3w==', 'open', '2025-07-15T07:00:00.000Z']],
    apart: {
      'one message, opened twice in one second': { values: { '0.sg_event_id': 'FOTFFO0ecsBE-zxFXfs6WA==' } },
      'two events without an id': {
        body: [{ email: 'one@example.com', timestamp: 1752562800, event: 'processed' }],
        events: [['content', 'processed', '2025-07-15T07:00:00.000Z']],
        values: { '0.email': 'two@example.com' },
      },
    },
  },
  largestBatch: { what: '768 KB of 3,700 events', events: 3700, make: () => sendgridBatch(3700) },
  vectors: [
    {
      id: 'sendgrid/single-event',
      origin: 'official-sdk-test (shipped in npm tarball src/eventwebhook.spec.js)',
      source: '@sendgrid/eventwebhook@8.0.0',
      note: 'body ends with CRLF; WebCrypto needs DER->raw r||s (64 bytes)',
      publicKey:
        'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==',
      headers: {
        'x-twilio-email-event-webhook-signature':
          'MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM=',
        'x-twilio-email-event-webhook-timestamp': '1600112502',
      },
      body: '[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5FC76C-9.0","smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n',
      nowSeconds: 1600112502,
    },
  ],
};
