import { number, PERSON, type Samples, seconds, short } from './sample.ts';

/** Payments, shops and subscriptions. */
export const money: Samples = {
  stripe: {
    types: ['invoice.paid'],
    id: () => `evt_${short()}`,
    body: (id, type, now) => ({
      id,
      object: 'event',
      type,
      created: seconds(now),
      data: {
        object: {
          id: `in_${id.slice(4)}`,
          object: 'invoice',
          customer: 'cus_sample',
          customer_email: PERSON,
          amount_paid: 4200,
          currency: 'eur',
        },
      },
    }),
  },
  paddle: {
    types: ['transaction.completed'],
    id: () => `evt_${short()}`,
    headers: { 'paddle-signature': 'ts={timestamp};h1={signature}' },
    body: (id, type, now) => ({
      event_id: id,
      event_type: type,
      occurred_at: now.toISOString(),
      notification_id: 'ntf_sample',
      data: { id: `txn_${id.slice(4)}`, status: 'completed', currency_code: 'EUR' },
    }),
  },
  square: {
    types: ['payment.created'],
    body: (id, type, now) => ({
      merchant_id: 'merchant_sample',
      type,
      event_id: id,
      created_at: now.toISOString(),
      data: { type: 'payment', id: 'payment_sample', object: { payment: { amount_money: { amount: 4200 } } } },
    }),
  },
  adyen: {
    types: ['AUTHORISATION', 'CAPTURE', 'REFUND'],
    id: short,
    body: (id, type, now) => ({
      live: 'false',
      notificationItems: [
        {
          NotificationRequestItem: {
            additionalData: { hmacSignature: '{signature}' },
            amount: { currency: 'EUR', value: 4200 },
            eventCode: type,
            eventDate: now.toISOString(),
            merchantAccountCode: 'SampleAccount',
            merchantReference: 'order-1',
            pspReference: id,
            success: 'true',
          },
        },
      ],
    }),
  },
  razorpay: {
    types: ['payment.captured'],
    id: short,
    body: (id, type, now) => ({
      entity: 'event',
      event: type,
      created_at: seconds(now),
      payload: { payment: { entity: { id: `pay_${id}`, amount: 4200, currency: 'INR', status: 'captured' } } },
    }),
  },
  'coinbase-commerce': {
    types: ['charge:confirmed'],
    body: (id, type, now) => ({
      id: 'delivery-sample',
      attempt_number: 1,
      event: { id, type, created_at: now.toISOString(), data: { code: 'SAMPLE01' } },
    }),
  },
  'coinbase-cdp': {
    types: ['payments.transfers.completed'],
    headers: {
      'x-hook0-signature': 't={timestamp},h=content-type x-event-id x-event-type,v1={signature}',
      'x-event-id': '{id}',
      'x-event-type': '{type}',
    },
    body: (id, type, now) => ({
      eventId: id,
      eventType: type,
      timestamp: now.toISOString(),
      data: { transferId: 'transfer_sample', sourceAmount: '42.00', sourceAsset: 'usdc', status: 'completed' },
    }),
  },
  mollie: {
    types: ['payment-link.paid'],
    id: () => `event_${short()}`,
    body: (id, type, now) => ({ resource: 'event', id, type, entityId: 'pl_sample', createdAt: now.toISOString() }),
  },
  'mollie-classic': {
    types: ['changed'],
    id: () => `tr_${short().slice(0, 10)}`,
    body: (id) => ({ id }),
  },
  shopify: {
    types: ['orders/create', 'orders/paid'],
    headers: {
      'x-shopify-topic': '{type}',
      'x-shopify-webhook-id': '{id}',
      'x-shopify-event-id': 'event-sample',
      'x-shopify-shop-domain': 'sample.myshopify.com',
      'x-shopify-hmac-sha256': '{signature}',
    },
    body: (_id, _type, now) => ({ id: Number(number()), created_at: now.toISOString(), total_price: '42.00' }),
  },
  woocommerce: {
    types: ['order.created', 'order.updated'],
    id: number,
    body: (id, _type, now) => ({
      id: Number(id),
      status: 'processing',
      total: '42.00',
      date_modified_gmt: now.toISOString().slice(0, 19),
    }),
  },
  lemonsqueezy: {
    types: ['order_created'],
    body: (id, type, now) => ({
      meta: { event_name: type, webhook_id: id },
      data: { type: 'orders', id: '1', attributes: { total: 4200, updated_at: now.toISOString() } },
    }),
  },
  chargebee: {
    types: ['invoice_generated'],
    id: () => `ev_${short()}`,
    body: (id, type, now) => ({
      id,
      occurred_at: seconds(now),
      event_type: type,
      content: { invoice: { id: 'inv_sample', total: 4200 } },
    }),
  },
  xero: {
    types: ['INVOICE.UPDATE'],
    body: (id, type, now) => {
      const [eventCategory, eventType] = type.split('.');
      const event = { resourceId: id, tenantId: 'tenant-sample', eventCategory, eventType };
      return {
        events: [{ ...event, eventDateUtc: now.toISOString() }],
        firstEventSequence: 1,
        lastEventSequence: 1,
        entropy: 'SAMPLE',
      };
    },
  },
};
