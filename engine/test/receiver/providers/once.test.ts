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
});
