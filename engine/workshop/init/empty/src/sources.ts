// YOURS: who may send. Each source needs its secret's line in wrangler.toml: here ORDERS_WEBHOOK_SECRET.

import { defineProvider, defineSources } from 'claimcheck';

/** A sender of your own: it signs the body with HMAC-SHA256. Known ones: `claimcheck/providers/stripe` and others. */
const shop = defineProvider({
  name: 'shop',
  docs: 'Our own shop: hex HMAC-SHA256 of the body in X-Shop-Signature.',
  scheme: { signature: 'header:x-shop-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
  id: { at: '{json:id}', signed: true },
  type: ['{json:type}'],
});

export const sources = defineSources({
  orders: { provider: shop, types: ['order.placed'] },
});
