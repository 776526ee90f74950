import { describe, expect, it } from 'vitest';
import { providerOf, withBody, withHeader } from '../../verify/deliveries.ts';
import { useProvidersInNode } from './running.ts';

const { outcomesOf, sample } = useProvidersInNode();

describe('what may come only once', () => {
  it.each(['mailgun', 'mailgun-repeats'])(
    'a token of Mailgun with another body is a suspected replay at %s',
    async (source) => {
      const sent = sample('mailgun', { source });
      const forged = sent.text.replace('"delivered"', '"failed"').replace(/"id":"[^"]+"/, '"id":"forged"');
      expect(await outcomesOf(source, [sent, withBody(sent, forged)])).toEqual(['accepted', 'parked']);
    },
  );

  it.each([
    ['shopify', 'x-shopify-topic', 'x-shopify-webhook-id'],
    ['woocommerce', 'x-wc-webhook-topic', 'x-wc-webhook-delivery-id'],
  ])('one body of %s under two of %s is two events', async (name, header, id) => {
    const sent = sample(name);
    const other = withHeader(
      withHeader(sent, id, () => 'another'),
      header,
      () => 'orders/updated',
    );
    const outcomes = ['accepted', 'accepted', 'duplicate', 'duplicate'];
    expect(await outcomesOf(name, [sent, other, sent, other])).toEqual(outcomes);
  });

  it('what is saved and then published is two events for Contentful, though it says the same', async () => {
    const body = '{"sys":{"id":"1","updatedAt":"2026-01-01T00:00:00Z"}}';
    const sent = [
      ['one', 'ContentManagement.Entry.save'],
      ['two', 'ContentManagement.Entry.publish'],
      ['three', 'ContentManagement.Entry.publish'],
    ].map(([id = '', type = '']) => sample('contentful', { id, type, body }));
    expect(await outcomesOf('contentful', sent)).toEqual(['accepted', 'accepted', 'parked']);
  });

  it.each([
    ['github', 'x-github-delivery'],
    ['shopify', 'x-shopify-webhook-id'],
  ])('a body of %s that repeats is another event if the source says so', async (name, header) => {
    const source = `${name}-repeats`;
    const sent = sample(name, { source });
    const again = withHeader(sent, header, () => 'another');
    expect(await outcomesOf(source, [sent, again, sent])).toEqual(['accepted', 'accepted', 'duplicate']);
  });

  it('the same body of WooCommerce is a new event each time a source says that bodies repeat: deleted, restored, deleted', async () => {
    const source = 'woocommerce-repeats';
    const deleted = (id: string) => sample('woocommerce', { source, id, type: 'product.deleted', body: '{"id":42}' });
    const sent = ['first second', 'later', 'first second'].map(deleted);
    expect(await outcomesOf(source, sent)).toEqual(['accepted', 'accepted', 'duplicate']);
  });

  it('a form of Twilio cut into other fields, which its signature fits as well, is a suspected replay', async () => {
    const sent = sample('twilio', { body: 'MessageSid=SM123&MessageStatus=sent&To=%2B155' });
    const cut = withBody(sent, 'MessageSid=SM123M&essageStatus=sentTo%2B155');
    expect(await outcomesOf('twilio', [sent, cut])).toEqual(['accepted', 'parked']);
  });

  it('an item of Adyen cut into other fields, which its signature fits as well, is a suspected replay', async () => {
    const [{ NotificationRequestItem: item }] = JSON.parse(sample('adyen', { id: 'psp' }).text).notificationItems;
    const withItem = (fields: object) =>
      JSON.stringify({ live: 'false', notificationItems: [{ NotificationRequestItem: { ...item, ...fields } }] });
    const body = withItem({ merchantReference: 'a:b', additionalData: { hmacSignature: '{signature}' } });
    const signed = sample('adyen', { body });
    const { additionalData } = JSON.parse(signed.text).notificationItems[0].NotificationRequestItem;
    const fields = { pspReference: 'psp:', originalReference: 'SampleAccount', merchantAccountCode: 'a' };
    const cut = withBody(signed, withItem({ ...fields, merchantReference: 'b', additionalData }));
    expect(await outcomesOf('adyen', [signed, cut])).toEqual(['accepted', 'parked']);
  });

  it.each(['dropbox', 'airtable', 'mollie-classic'])('the same body of %s is news every time', async (name) => {
    const sent = sample(name);
    expect(await outcomesOf(name, [sent, sent, sent])).toEqual(['accepted', 'accepted', 'accepted']);
  });

  it.each([
    ['notion', '"attempt_number":1'],
    ['intercom', '"delivery_attempts":1'],
    ['coinbase-commerce', '"attempt_number":1'],
    ['hubspot-v3', '"attemptNumber":0'],
  ])('a body of %s that counts its attempts is the same event by its id', async (name, count) => {
    const first = sample(name);
    const retried = first.text.replace(count, count.replace(/\d$/, '2'));
    expect(retried).not.toBe(first.text);
    expect(await outcomesOf(name, [first, sample(name, { body: retried })])).toEqual(['accepted', 'duplicate']);
  });
});

/** Each time the one differs from the other only in what it adds. */
const TOLD_APART: [provider: string, of: string, one: object, more: object][] = [
  ['twilio', 'one call in progress', { CallSid: 'CA1', CallStatus: 'in-progress' }, { Digits: '1' }],
  ['twilio', 'one message', { MessageSid: 'SM1', SmsStatus: 'received' }, { SmsStatus: 'sent' }],
  ['twilio', 'one call', { CallSid: 'CA1' }, { RecordingSid: 'RE1' }],
  ['twilio', 'no message and no call', { ConversationSid: 'CH1' }, { EventType: 'onMessageAdded' }],
  ['postmark', 'two recipients', { RecordType: 'Delivery', MessageID: 'm', Recipient: 'a' }, { Recipient: 'b' }],
  ['postmark', 'two changes', { RecordType: 'SubscriptionChange', MessageID: 'm' }, { ChangedAt: '2026-01-01' }],
  ['calendly', 'two times', { event: 'e', payload: { uri: 'u' }, created_at: '1' }, { created_at: '2' }],
  [
    'zoom',
    'two people in one moment',
    { event: 'e', event_ts: 1, payload: { object: { uuid: 'u', who: 1 } } },
    { payload: { object: { uuid: 'u', who: 2 } } },
  ],
  ['zoom', 'no time', { event: 'e' }, { payload: {} }],
  ['woocommerce', 'one second', { id: 1, date_modified_gmt: '2026-01-01T00:00:00' }, { total: 1 }],
  ['woocommerce', 'no id', { action: 'a' }, { arg: 1 }],
  [
    'docusign',
    'two recipients',
    { event: 'recipient-sent', data: { envelopeId: 'e', recipientId: '1' }, generatedDateTime: '1' },
    { data: { envelopeId: 'e', recipientId: '2' } },
  ],
];

it.each(TOLD_APART)('two events of %s are told apart: %s', async (name, _of, one, more) => {
  const written = (body: object) =>
    providerOf(name).form ? new URLSearchParams({ ...body }).toString() : JSON.stringify(body);
  const [first, second] = [one, { ...one, ...more }].map((body) => sample(name, { id: '1', body: written(body) }));
  if (!first || !second) throw new Error(name);
  const outcomes = ['accepted', 'accepted', 'duplicate', 'duplicate'];
  expect(await outcomesOf(name, [first, second, first, second])).toEqual(outcomes);
});

it.each([
  ['calcom', { triggerEvent: 'MEETING_ENDED', title: 'A meeting' }],
  ['slack', { type: 'app_rate_limited', team_id: 'T1', api_app_id: 'A1', minute_rate_limited: 1_770_000_000 }],
  [
    'intercom',
    { type: 'notification_event', id: null, topic: 'ping', created_at: 1_770_000_000, delivery_attempts: 1 },
  ],
  ['intercom', { type: 'notification_event', id: null, topic: 'ping' }],
])('what %s sends without an id is claimed all the same: %j', async (name, body) => {
  const text = JSON.stringify(body);
  const retried = text.replace('"delivery_attempts":1', '"delivery_attempts":2');
  const sent = [text, retried].map((one) => sample(name, { body: one }));
  expect(await outcomesOf(name, sent)).toEqual(['accepted', 'duplicate']);
});
