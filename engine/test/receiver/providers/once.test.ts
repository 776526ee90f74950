import { describe, expect, it } from 'vitest';
import { withBody, withHeaders } from '../../verify/deliveries.ts';
import { useProviders } from './running.ts';

const { outcomesOf, sample } = useProviders();

// What is an event of its own, and what comes again: the pairs in the proof of each provider.
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
    ['github', 'x-github-delivery'],
    ['shopify', 'x-shopify-webhook-id'],
  ])('a body of %s that repeats is another event if the source says so', async (name, header) => {
    const source = `${name}-repeats`;
    const sent = sample(name, { source });
    const again = withHeaders(sent, { [header]: 'another' });
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
});
