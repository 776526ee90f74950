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

const comment = (value: object) => ({
  object: 'instagram',
  entry: [{ id: '1', time: 1770000000, changes: [{ field: 'comments', value }] }],
});

/** The properties that name a person in Meta's examples. */
const NAMES = [
  'from',
  'recipient_id',
  'recipient_participant_id',
  'participant_recipient_id',
  'from_user_id',
  'recipient_user_id',
  'recipient_participant_user_id',
];

const contactOf = (name: string) => ({ [name.includes('user_id') ? 'user_id' : 'wa_id']: `the ${name}` });
const messageOf = (name: string) => ({ id: name, timestamp: '1770000000', [name]: `the ${name}` });
const statusOf = (status: string) => ({ id: 'wamid.HBgL', status, timestamp: '1770000001' });
const messaging = (mid: string) => ({ timestamp: 1770000000123, message: { mid } });

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
    read: '2026-11-20',
    from: 'developers.facebook.com/docs/graph-api/webhooks/getting-started',
    signature: 'hmac-sha256 hex at header:x-hub-signature-256#sha256',
    ...HMAC_BODY,
    id: said(
      'messages.id / statuses.id + statuses.status + statuses.payment.reference_id + statuses.payment.transaction.id? + statuses.payment.transaction.status? + statuses.payment.transaction.refunds.status? + statuses.timestamp? / statuses.id + statuses.status + statuses.recipient_participant_id / statuses.id + statuses.status + statuses.participant_recipient_id / statuses.id + statuses.status + statuses.recipient_participant_user_id / statuses.id + statuses.status / entry.id? + message.mid + message.is_deleted / entry.id? + message.mid / entry.id? + changes.field + leadgen_id / entry.id? + changes.field + media.id + id / errors.code + every delivery',
      'developers.facebook.com whatsapp: groups/webhooks (both spellings), business-scoped user ids; docs.ycloud.com whatsapp-payment-updated (transactions); developers.kaleyra.io whatsapp-payments-webhook (refunds); support.wati.io 11822291 (no transaction); messenger-platform: webhook events; graph-api/webhooks/getting-started/webhooks-for-leadgen; instagram-platform/webhooks/examples (comments)',
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
    open: "whether a retry has the same entry.time, which is when Meta sent it: if not, a retry of what is claimed by its content (Page feeds, for example) is a second event. `created_time` can't take its place, because an edited post keeps that of the post; whether an edited comment of Instagram is announced, which would have the same id; nothing tells two errors of WhatsApp apart, so every delivery of one is an event; whether a retry of a payment has the same time, and which message id a refund has",
    limits: ['Each WhatsApp message is stored with its own contact, not with the whole `contacts` list.'],
  },
  handshakes: [
    {
      query: 'hub.mode=subscribe&hub.verify_token={verifyToken}&hub.challenge=1158201444',
      reply: { status: 200, headers: { 'content-type': 'text/plain' }, text: '1158201444' },
      limited: '1158201444',
      unlike: [
        ['subscribe', 'unsubscribe'],
        ['{verifyToken}', 'wrong'],
        ['hub.verify_token={verifyToken}&', ''],
      ],
    },
  ],
  accepts: { bytes: 3 * 1024 * 1024 },
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
    events: [['wamid.HBgL:delivered:16505551234', 'whatsapp_business_account.messages', '2025-06-15T23:27:53.000Z']],
    apart: {
      'a batch of messages, each stored with the contact that it names': {
        body: whatsapp({ contacts: NAMES.map(contactOf), messages: NAMES.map(messageOf) }),
        events: NAMES.map((name) => [name, 'whatsapp_business_account.messages', '2026-02-02T02:40:00.000Z']),
        stored: NAMES.map((name) => whatsapp({ contacts: [contactOf(name)], messages: [messageOf(name)] })),
        values: { 'entry.0.changes.0.value.messages.0.id': 'another' },
      },
      'a batch of statuses': {
        body: whatsapp({ statuses: [statusOf('read'), statusOf('sent')] }),
        events: [
          ['wamid.HBgL:read', 'whatsapp_business_account.messages', '2026-02-02T02:40:01.000Z'],
          ['wamid.HBgL:sent', 'whatsapp_business_account.messages', '2026-02-02T02:40:01.000Z'],
        ],
        values: { [`${STATUS}.id`]: 'another' },
      },
      'a batch of changes of a page': {
        body: {
          object: 'page',
          entry: [{ id: '1', time: 1770000000, changes: [{ field: 'feed' }, { field: 'likes' }] }],
        },
        events: [
          ['content', 'page.feed', '2026-02-02T02:40:00.000Z'],
          ['content', 'page.likes', '2026-02-02T02:40:00.000Z'],
        ],
        values: { 'entry.0.changes.0.value': 1 },
      },
      'a batch of messages of Messenger': {
        body: {
          object: 'page',
          entry: [
            {
              id: '1',
              time: 1770000000000,
              messaging: [messaging('m1'), { ...messaging('m2'), message: { mid: 'm2', is_deleted: true } }],
            },
          ],
        },
        events: [
          ['1:m1', 'page', '2026-02-02T02:40:00.123Z'],
          ['1:m2:true', 'page', '2026-02-02T02:40:00.123Z'],
        ],
        values: { 'entry.0.messaging.0.message.mid': 'm3' },
      },
      'two accounts of ours on both sides of a conversation': {
        body: { object: 'page', entry: [{ id: '1', messaging: [messaging('m1')] }] },
        events: [['1:m1', 'page', '2026-02-02T02:40:00.123Z']],
        values: { 'entry.0.id': '2' },
      },
      'two accounts of ours on both sides of a deletion': {
        body: { object: 'page', entry: [{ id: '1', messaging: [{ message: { mid: 'm1', is_deleted: true } }] }] },
        events: [['1:m1:true', 'page', null]],
        values: { 'entry.0.id': '2' },
      },
      'a batch of entries without a list that we know': {
        body: {
          object: 'page',
          entry: [
            { id: '1', standby: [{ timestamp: 1770000000123 }] },
            { id: '2', time: 1770000000 },
          ],
        },
        events: [
          ['content', 'page', '2026-02-02T02:40:00.123Z'],
          ['content', 'page', '2026-02-02T02:40:00.000Z'],
        ],
        values: { 'entry.0.id': '3' },
      },
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
        events: [['wamid.HBgL:read:US.1', 'whatsapp_business_account.messages', '2025-06-15T23:27:53.000Z']],
        values: { [`${STATUS}.recipient_participant_user_id`]: 'US.2' },
      },
      'two members of a group, in the other spelling of Meta': {
        body: whatsapp({
          statuses: [{ id: 'wamid.HBgL', status: 'read', timestamp: '1750030073', participant_recipient_id: '1' }],
        }),
        events: [['wamid.HBgL:read:1', 'whatsapp_business_account.messages', '2025-06-15T23:27:53.000Z']],
        values: { [`${STATUS}.participant_recipient_id`]: '2' },
      },
      'two attempts to pay for one order, which failed in one second': {
        body: payment({ transaction: { id: 'txn_1', type: 'razorpay', status: 'failed' } }),
        events: [
          [
            'wamid.HBgL:captured:order-1:txn_1:failed::1728544066',
            'whatsapp_business_account.messages',
            '2024-10-10T07:07:46.000Z',
          ],
        ],
        values: { [`${STATUS}.payment.transaction.id`]: 'txn_2' },
      },
      'two attempts to pay for one order, which name no transaction': {
        body: payment({ sender: '12137725260' }),
        events: [
          [
            'wamid.HBgL:captured:order-1::::1728544066',
            'whatsapp_business_account.messages',
            '2024-10-10T07:07:46.000Z',
          ],
        ],
        values: { [`${STATUS}.timestamp`]: '1728544067' },
      },
      'a payment and its refund': {
        body: payment({ transaction: { id: 'order_1', status: 'success', refunds: null } }),
        events: [
          [
            'wamid.HBgL:captured:order-1:order_1:success::1728544066',
            'whatsapp_business_account.messages',
            '2024-10-10T07:07:46.000Z',
          ],
        ],
        values: { [`${STATUS}.payment.transaction.refunds`]: [{ id: 'rfnd_1', status: 'pending' }] },
      },
      'a refund that is pending, and then completed in the same second': {
        body: payment({ transaction: { id: 'o', status: 'success', refunds: [{ id: 'r', status: 'pending' }] } }),
        events: [
          [
            'wamid.HBgL:captured:order-1:o:success:pending:1728544066',
            'whatsapp_business_account.messages',
            '2024-10-10T07:07:46.000Z',
          ],
        ],
        values: { [`${STATUS}.payment.transaction.refunds.0.status`]: 'completed' },
      },
      'two equal errors': {
        body: whatsapp({ errors: [{ code: 130429, title: 'Rate limit hit' }] }),
        events: [['130429:random', 'whatsapp_business_account.messages', null]],
      },
      'two leads of one form': {
        body: { object: 'page', entry: [{ id: '1', changes: [{ field: 'leadgen', value: { leadgen_id: '444' } }] }] },
        events: [['1:leadgen:444', 'page.leadgen', null]],
        values: { 'entry.0.changes.0.value.leadgen_id': '445' },
      },
      'a lead of another field': {
        body: { object: 'page', entry: [{ id: '1', changes: [{ field: 'leadgen', value: { leadgen_id: '444' } }] }] },
        events: [['1:leadgen:444', 'page.leadgen', null]],
        values: { 'entry.0.changes.0.field': 'leadgen_update' },
      },
      'two comments on one picture': {
        body: comment({ id: '17', media: { id: '178' } }),
        events: [['1:comments:178:17', 'instagram.comments', '2026-02-02T02:40:00.000Z']],
        values: { 'entry.0.changes.0.value.id': '18' },
      },
      'a comment of a live video': {
        body: comment({ id: '17', media: { id: '178' } }),
        events: [['1:comments:178:17', 'instagram.comments', '2026-02-02T02:40:00.000Z']],
        values: { 'entry.0.changes.0.field': 'live_comments' },
      },
      'two accounts of ours whose picture it is': {
        body: comment({ id: '17', media: { id: '178' } }),
        events: [['1:comments:178:17', 'instagram.comments', '2026-02-02T02:40:00.000Z']],
        values: { 'entry.0.id': '2' },
      },
      'a comment on another picture': {
        body: comment({ id: '17', media: { id: '178' } }),
        events: [['1:comments:178:17', 'instagram.comments', '2026-02-02T02:40:00.000Z']],
        values: { 'entry.0.changes.0.value.media.id': '179' },
      },
      'an ad that is reviewed twice, which has an id and no picture': {
        body: { object: 'ad_account', entry: [{ id: '1', time: 1, changes: [{ field: 'f', value: { id: '9' } }] }] },
        events: [['content', 'ad_account.f', '1970-01-01T00:00:01.000Z']],
        values: { 'entry.0.time': 2 },
      },
      'a message of Messenger, and its deletion': {
        body: {
          object: 'instagram',
          entry: [{ id: '1', time: 1569262486134, messaging: [{ message: { mid: 'm1', text: 'Hi' } }] }],
        },
        events: [['1:m1', 'instagram', null]],
        values: { 'entry.0.messaging.0.message': { mid: 'm1', is_deleted: true } },
      },
    },
    same: {
      'a payment without a time, and a message of an entry without an id': {
        body: {
          object: 'page',
          entry: [
            { messaging: [messaging('m1'), { message: { mid: 'm2', is_deleted: true } }] },
            {
              changes: [
                {
                  field: 'messages',
                  value: { statuses: [{ id: 's', status: 'captured', payment: { reference_id: 'o' } }] },
                },
              ],
            },
          ],
        },
        events: [
          ['s:captured:o::::', 'page.messages', null],
          [':m1', 'page', '2026-02-02T02:40:00.123Z'],
          [':m2:true', 'page', null],
        ],
      },
      'a retry, in an envelope of a later version': { values: { [`${STATUS}.pricing`]: { billable: true } } },
      'a lead that was sent again, later': {
        body: {
          object: 'page',
          entry: [
            { id: '1', time: 1770000000, changes: [{ field: 'leadgen', value: { leadgen_id: '444', form_id: '5' } }] },
          ],
        },
        events: [['1:leadgen:444', 'page.leadgen', '2026-02-02T02:40:00.000Z']],
        values: { 'entry.0.time': 1770000060 },
      },
      'a comment on Instagram that was sent again, later': {
        body: comment({ id: '17865799348089039', media: { id: '178', media_product_type: 'FEED' } }),
        events: [['1:comments:178:17865799348089039', 'instagram.comments', '2026-02-02T02:40:00.000Z']],
        values: { 'entry.0.time': 1770000060 },
      },
      'a lead and a comment of entries without an id': {
        body: {
          object: 'page',
          entry: [
            { changes: [{ field: 'leadgen', value: { leadgen_id: '444' } }] },
            { changes: [{ field: 'comments', value: { id: '17', media: { id: '178' } } }] },
          ],
        },
        events: [
          [':leadgen:444', 'page.leadgen', null],
          [':comments:178:17', 'page.comments', null],
        ],
      },
      'a message of Messenger in a batch that was sent later': {
        body: {
          object: 'page',
          entry: [{ id: '1', time: 1569262486134, messaging: [{ message: { mid: 'm1', text: 'Hi' } }] }],
        },
        events: [['1:m1', 'page', null]],
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
