import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

/** One WhatsApp value in its envelope. */
const whatsapp = (value: object) => ({
  object: 'whatsapp_business_account',
  entry: [
    {
      id: '102290129340398',
      changes: [
        {
          field: 'messages',
          value: { messaging_product: 'whatsapp', metadata: { phone_number_id: '106540352242922' }, ...value },
        },
      ],
    },
  ],
});

const STATUS = 'entry.0.changes.0.value.statuses.0';

const payment = (details: object) =>
  whatsapp({
    statuses: [
      {
        id: 'wamid.HBgL',
        type: 'payment',
        status: 'captured',
        timestamp: '1728544066',
        payment: { reference_id: 'order-1', ...details },
      },
    ],
  });

/** One change with as many people as messages, as WhatsApp sends it. */
export function whatsappBatch(count: number, text: string, name = 'Person'): string {
  const contacts = Array.from({ length: count }, (_, n) => ({ profile: { name: `${name} ${n}` }, wa_id: `4915${n}` }));
  const messages = Array.from({ length: count }, (_, n) => ({
    from: `4915${n}`,
    id: `wamid.${n}`,
    timestamp: '1770000000',
    type: 'text',
    text: { body: text },
  }));
  return JSON.stringify(whatsapp({ contacts, messages }));
}

export const proof: Proof = {
  sdk: { sdk: 'whatsapp-api-js', signs: false, by: 'others' },
  facts: {
    read: '2026-11-19',
    from: 'developers.facebook.com/docs/graph-api/webhooks/getting-started',
    signature: 'hmac-sha256 hex at header:x-hub-signature-256#sha256',
    ...HMAC_BODY,
    id: said(
      'messages.id / statuses.id + statuses.status + statuses.payment.reference_id + statuses.payment.transaction.id? + statuses.payment.transaction.status? + statuses.payment.transaction.refunds.status? + statuses.timestamp? / statuses.id + statuses.status + statuses.recipient_participant_id / statuses.id + statuses.status + statuses.participant_recipient_id / statuses.id + statuses.status + statuses.recipient_participant_user_id / statuses.id + statuses.status / entry.id? + message.mid + message.is_deleted / entry.id? + message.mid / errors.code + every delivery',
      'developers.facebook.com whatsapp: groups/webhooks (both spellings), business-scoped user ids; docs.ycloud.com whatsapp-payment-updated (transactions); developers.kaleyra.io whatsapp-payments-webhook (refunds); support.wati.io 11822291 (no transaction); messenger-platform: webhook events',
    ),
    isIdSigned: true,
    type: 'object + changes.field / object',
    time: said(
      'messaging.timestamp / standby.timestamp (ms) / messages.timestamp / statuses.timestamp / entry.time (s)',
      'developers.facebook.com messenger-platform and whatsapp: examples',
    ),
    batch:
      'entry.*.changes.*.value.messages.* entry.*.changes.*.value.statuses.* entry.*.changes.* entry.*.messaging.* entry.*',
    handshake: 'GET unsigned → 200',
    limit: said(null, 'Meta names none; its partners name 3 to 20 s'),
    retries: said(
      168,
      'WhatsApp: up to 7 days (docs.360dialog.com/docs/messaging/webhook); graph-api/webhooks: 36 hours',
    ),
    largest: said(3072, 'developers.facebook.com: "up to 3 MB"'),
    ends: '200',
    same: 'the id of the message; for a status also the status and the member of a group, or the transaction, refund and time of a payment',
    open: 'nothing tells two errors of WhatsApp apart, so every delivery of one is an event; whether a retry of a payment has the same time, and which message id a refund has',
    limits: ['Each WhatsApp message is stored with its own contact, not with the whole `contacts` list.'],
  },
  pairs: {
    source: 'developers.facebook.com whatsapp webhooks: messages, statuses, groups, payments; Messenger',
    type: 'messages',
    body: whatsapp({
      statuses: [
        {
          id: 'wamid.HBgL',
          status: 'delivered',
          timestamp: '1750030073',
          recipient_participant_id: '16505551234',
          recipient_participant_user_id: 'US.13491208655302741918',
        },
      ],
    }),
    apart: {
      'two members of a group who got one message in one second': {
        values: {
          [`${STATUS}.recipient_participant_id`]: '16505551235',
          [`${STATUS}.recipient_participant_user_id`]: 'US.2',
        },
      },
      'two members of a group who hide their numbers': {
        body: whatsapp({
          statuses: [
            { id: 'wamid.HBgL', status: 'read', timestamp: '1750030073', recipient_participant_user_id: 'US.1' },
          ],
        }),
        values: { [`${STATUS}.recipient_participant_user_id`]: 'US.2' },
      },
      'two members of a group, in the other spelling of Meta': {
        body: whatsapp({
          statuses: [{ id: 'wamid.HBgL', status: 'read', timestamp: '1750030073', participant_recipient_id: '1' }],
        }),
        values: { [`${STATUS}.participant_recipient_id`]: '2' },
      },
      'two attempts to pay for one order, which failed in one second': {
        body: payment({ transaction: { id: 'txn_1', type: 'razorpay', status: 'failed' } }),
        values: { [`${STATUS}.payment.transaction.id`]: 'txn_2' },
      },
      'two attempts to pay for one order, which name no transaction': {
        body: payment({ sender: '12137725260' }),
        values: { [`${STATUS}.timestamp`]: '1728544067' },
      },
      'a payment and its refund': {
        body: payment({ transaction: { id: 'order_1', status: 'success', refunds: null } }),
        values: { [`${STATUS}.payment.transaction.refunds`]: [{ id: 'rfnd_1', status: 'pending' }] },
      },
      'a refund that is pending, and then completed in the same second': {
        body: payment({ transaction: { id: 'o', status: 'success', refunds: [{ id: 'r', status: 'pending' }] } }),
        values: { [`${STATUS}.payment.transaction.refunds.0.status`]: 'completed' },
      },
      'two equal errors': { body: whatsapp({ errors: [{ code: 130429, title: 'Rate limit hit' }] }) },
      'a message of Messenger, and its deletion': {
        body: {
          object: 'instagram',
          entry: [{ id: '1', time: 1569262486134, messaging: [{ message: { mid: 'm1', text: 'Hi' } }] }],
        },
        values: { 'entry.0.messaging.0.message': { mid: 'm1', is_deleted: true } },
      },
    },
    same: {
      'a retry, in an envelope of a later version': { values: { [`${STATUS}.pricing`]: { billable: true } } },
      'a message of Messenger in a batch that was sent later': {
        body: {
          object: 'page',
          entry: [{ id: '1', time: 1569262486134, messaging: [{ message: { mid: 'm1', text: 'Hi' } }] }],
        },
        values: { 'entry.0.time': 1569262499999 },
      },
    },
  },
  largestBatch: {
    what: '3 MB of 1,000 messages from 1,000 people',
    events: 1000,
    make: () => whatsappBatch(1000, 'x'.repeat(2800)),
  },
  vectors: [
    {
      id: 'meta/accepted',
      origin: 'accepted-by-others',
      source: 'webhook-co/webhook accepts it, and refuses it with another body: @de3aa4e8 packages/webhooks-spec',
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-hub-signature-256': 'sha256=10aa29551322837fd1d71a09dd2a3b2f0eac44aa45f77f6c19f2dc7e9d1f022c' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
