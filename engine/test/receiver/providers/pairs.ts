/**
 * Two deliveries of each provider that must be two events, and two that must be one: as alike, and as different, as its
 * documentation allows. The bodies are examples of the named source, shortened to what tells events apart.
 */
export interface Pairs {
  /** Where the example is from. */
  readonly source: string;
  readonly type?: string;
  readonly body: Body;
  readonly apart: Readonly<Record<string, Pair>>;
  /** Beside a retry of the same body, which each provider has, signed with a new time if it signs one. */
  readonly same?: Readonly<Record<string, Pair>>;
}

/** Some providers sign a time inside the body. */
export type Body = object | ((now: Date) => object);

/** What the second delivery has instead: the header's id, the header's type, unsigned headers, values by their path. */
export interface Pair {
  readonly id?: string;
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly values?: Readonly<Record<string, unknown>>;
  /** Another example, for both deliveries. */
  readonly body?: Body;
  readonly both?: { readonly type?: string; readonly headers?: Readonly<Record<string, string>> };
  /** What becomes of the second delivery, if it is neither a new event nor a duplicate. */
  readonly outcome?: 'parked' | 'accepted';
}

/** Nothing tells that of a poke from the next change. */
export const RETRY = 'a retry';

const seconds = (now: Date) => Math.floor(now.getTime() / 1000);

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

const standard = (body: object, source: string): Pairs => ({
  source,
  body,
  apart: { 'two events with the same body': { id: 'msg_two' } },
});

const INVITEE = {
  uri: 'https://api.calendly.com/scheduled_events/A/invitees/B',
  event: 'https://api.calendly.com/scheduled_events/A',
};

const WALLET = { eventType: 'wallet.transaction.created', network: 'base-sepolia', transactionHash: '0x1' };

const RECORDING = {
  event: 'recording.completed',
  event_ts: 1752562800000,
  download_token: 'a',
  payload: { object: { uuid: '4nR0', recording_files: [{ id: 'one', download_url: 'https://zoom.us/a' }] } },
};

const poke = (source: string, body: object): Pairs => ({
  source,
  body,
  apart: { 'two changes, which say the same': {} },
  same: { [RETRY]: { outcome: 'accepted' } },
});

export const pairs: Readonly<Record<string, Pairs>> = {
  adyen: {
    source: 'hookdeck/webhook-samples adyen (in triggerdotdev/trigger.dev), docs.adyen.com webhooks',
    body: {
      notificationItems: [
        {
          NotificationRequestItem: {
            additionalData: { hmacSignature: '{signature}' },
            eventCode: 'AUTHORISATION',
            eventDate: '2023-03-08T10:45:05+01:00',
            pspReference: 'NGAO2BVQFXJ7XZDP',
            success: 'false',
          },
        },
      ],
    },
    apart: {
      'an authorisation that failed, and then succeeded': {
        values: { 'notificationItems.0.NotificationRequestItem.success': 'true' },
      },
    },
    same: {
      'the same event with a later date, which is not signed': {
        values: { 'notificationItems.0.NotificationRequestItem.eventDate': '2023-03-08T10:47:05+01:00' },
      },
    },
  },
  airtable: poke('airtable.com/developers/web/api/webhooks-overview', { base: { id: 'app00000000000000' } }),
  asana: {
    source: 'developers.asana.com/docs/webhooks-guide',
    body: {
      events: [
        {
          action: 'changed',
          created_at: '2026-07-01T14:00:00.123Z',
          resource: { gid: '1337', resource_type: 'task' },
          change: { field: 'due_on', action: 'changed' },
        },
      ],
    },
    apart: {
      'two fields of a task, changed in one action': { values: { 'events.0.change.field': 'assignee' } },
      'one field, changed again a millisecond later': { values: { 'events.0.created_at': '2026-07-01T14:00:00.124Z' } },
    },
  },
  auth0: {
    source: 'auth0.com/docs/customize/log-streams/custom-log-streams (in triggerdotdev/trigger.dev)',
    body: [{ log_id: '90020250708141238000000000000000001', data: { date: '2026-07-08T14:12:38.123Z', type: 'fp' } }],
    apart: {
      'two wrong passwords in one millisecond': { values: { '0.log_id': '90020250708141238000000000000000002' } },
      'the same, from a stream that has the id inside data': {
        body: [{ data: { log_id: '900201', date: '2026-07-08T14:12:38.123Z', type: 'fp' } }],
        values: { '0.data.log_id': '900202' },
      },
    },
  },
  awardee: {
    source: 'assumed',
    body: { nomination: { id: 'nom_1' } },
    apart: { 'two events with the same body': { id: 'two' } },
  },
  bitbucket: {
    source: 'hookdeck/webhook-samples bitbucket (in triggerdotdev/trigger.dev)',
    type: 'pullrequest:approved',
    body: { pullrequest: { id: 3 }, approval: { date: '2023-03-08T06:12:09.954Z' } },
    apart: {
      'the same pull request, approved again after the approval was withdrawn': {
        id: 'two',
        values: { 'approval.date': '2023-03-08T06:12:10.001Z' },
      },
    },
    same: {
      'a second attempt after a 5xx': { headers: { 'x-attempt-number': '2' } },
      'an equal body under another X-Request-UUID, such as a branch made again': { id: 'two', outcome: 'parked' },
    },
  },
  calcom: {
    source: 'cal.com/docs/developing/guides/automation/webhooks (in triggerdotdev/trigger.dev)',
    body: { triggerEvent: 'BOOKING_RESCHEDULED', createdAt: '2026-07-01T14:05:00.000Z', payload: { uid: '8f2b6c1a' } },
    apart: {
      'one booking, moved twice': { values: { createdAt: '2026-07-01T14:05:00.001Z' } },
      'two forms, which have no uid, in one millisecond': {
        body: { triggerEvent: 'FORM_SUBMITTED', createdAt: '2026-07-01T14:05:00.000Z', payload: { name: 'Ada' } },
        values: { 'payload.name': 'Grace' },
      },
    },
    same: { 'what has no id and no time': { body: { triggerEvent: 'MEETING_ENDED', title: 'A meeting' } } },
  },
  calendly: {
    source: 'developer.calendly.com/api-docs: Webhook Payload, whose examples have no fractions of a second',
    body: { event: 'invitee_no_show.created', created_at: '2020-11-23T17:51:19.000000Z', payload: INVITEE },
    apart: {
      'one invitee, marked as absent again': { values: { created_at: '2020-11-23T17:51:20.000000Z' } },
      'one type of event, updated twice in one second': {
        body: {
          event: 'event_type.updated',
          created_at: '2020-11-23T17:51:19.000000Z',
          payload: { uri: 'https://api.calendly.com/event_types/A', updated_at: '2020-11-23T17:51:18.341657Z' },
        },
        values: { 'payload.updated_at': '2020-11-23T17:51:18.341658Z' },
      },
    },
    same: {
      'a retry of a booking whose invitee has changed in the meantime': {
        body: {
          event: 'invitee.created',
          created_at: '2020-11-23T17:51:19.000000Z',
          payload: { ...INVITEE, no_show: null, updated_at: '2020-11-23T17:51:18.341657Z' },
        },
        values: { 'payload.no_show': { uri: 'C' }, 'payload.updated_at': '2020-11-23T17:54:22.356897Z' },
      },
    },
  },
  chargebee: {
    source: 'apidocs.chargebee.com/docs/api/events',
    body: { id: 'ev_19AKjkUzIF9g51', event_type: 'payment_failed', webhook_status: 'not_configured' },
    apart: { 'two failed payments in one second': { values: { id: 'ev_19AKjkUzIF9g53' } } },
    same: { 'a retry, whose webhook_status has changed': { values: { webhook_status: 're_scheduled' } } },
  },
  clerk: standard(
    { type: 'user.updated', timestamp: 1716883200000, data: { id: 'user_29w83sxmDNGwOuEthce5gg56FcC' } },
    'clerk.com/docs/webhooks/overview (in triggerdotdev/trigger.dev)',
  ),
  'coinbase-cdp': {
    source: 'docs.cdp.coinbase.com/payments/transfers/webhooks/example-payloads',
    body: { eventId: '11111111-0000-4000-8000-000000000001', eventType: 'payments.transfers.quoted' },
    apart: {
      'a transfer that is quoted twice in one second': {
        id: 'two',
        values: { eventId: '11111111-0000-4000-8000-000000000002' },
      },
      'two transactions without an id in the body': { body: WALLET, id: 'two' },
    },
    same: { 'a retry of an event without an id in the body': { body: WALLET } },
  },
  'coinbase-commerce': {
    source: 'coinbase/coinbase-commerce-node test/testWebhook.spec.js',
    body: { id: 1, attempt_number: 1, event: { id: '24934862', created_at: '2017-01-31T20:49:02Z' } },
    apart: { 'two charges of one second': { values: { 'event.id': '24934863' } } },
    same: { 'a retry with an id of its own': { values: { id: 2, attempt_number: 2 } } },
  },
  contentful: {
    source: 'a webhook.site record of 2026-06-22 in a public repository (find_string x-contentful-event-datetime)',
    type: 'ContentManagement.Entry.publish',
    body: { sys: { id: '4o19ghFQzzNX9uiJifi7Hf', updatedAt: '2026-06-22T18:42:22.354Z' } },
    apart: {
      'an entry that is saved and published': { id: 'two', type: 'ContentManagement.Entry.save' },
      'an entry that is published twice': { id: 'two', values: { 'sys.updatedAt': '2026-06-22T18:42:22.355Z' } },
      'two entries whose bodies the user made equal with a transformation': {
        body: { event_type: 'content changed' },
        both: {
          headers: {
            'x-contentful-crn': 'crn:contentful:::content:spaces/s/environments/master/entries/one',
            'x-contentful-event-datetime': '2026-06-22T18:42:22.587Z',
          },
        },
        id: 'two',
        headers: { 'x-contentful-crn': 'crn:contentful:::content:spaces/s/environments/master/entries/two' },
      },
    },
    same: {
      'a second attempt': { headers: { 'x-contentful-webhook-request-attempt': '2' } },
      'a captured body under another key': { id: 'two', outcome: 'parked' },
    },
  },
  discord: {
    source: 'docs.discord.com/developers/events/webhook-events',
    body: { type: 1, event: { timestamp: '2024-10-18T18:41:21.109604', data: { id: '1234505980407808808' } } },
    apart: { 'two purchases in one microsecond': { values: { 'event.data.id': '1234505980407808809' } } },
  },
  docusign: {
    source: 'developers.docusign.com/platform/webhooks/connect (in triggerdotdev/trigger.dev)',
    body: {
      event: 'recipient-sent',
      retryCount: 0,
      generatedDateTime: '2026-06-28T15:02:11.4471203Z',
      data: { envelopeId: '3f9a2c1e-6b4d-4e2f-8a1c-9d3b5f7e2a6c', recipientId: '1' },
    },
    apart: {
      'two recipients in one moment': { values: { 'data.recipientId': '2' } },
      'one recipient, notified again': { values: { generatedDateTime: '2026-06-28T15:02:11.4471204Z' } },
    },
    same: { 'a retry, which counts': { values: { retryCount: 1 } } },
  },
  dropbox: poke('dropbox.com/developers/reference/webhooks', {
    list_folder: { accounts: ['dbid:AAH4f99T0taONIb-OurWxbNQ6ywGRopQngc'] },
    delta: { users: [12345678] },
  }),
  gethook: {
    source: 'assumed',
    body: { id: 'one', type: 'record.updated', created_at: '2026-01-01T00:00:00Z' },
    apart: { 'two changes of one second': { values: { id: 'two' } } },
  },
  github: {
    source: 'octokit/webhooks payload-examples workflow_dispatch, repository_dispatch, watch',
    type: 'workflow_dispatch',
    body: { inputs: null, ref: 'refs/heads/master', workflow: '.github/workflows/hello.yaml' },
    apart: {
      'a workflow that is started twice with the same inputs': { id: 'two' },
      'two equal repository_dispatch': {
        body: { action: 'on-demand-test', branch: 'master', client_payload: { unit: false } },
        both: { type: 'repository_dispatch' },
        id: 'two',
      },
    },
    same: {
      'a captured body under another id': {
        body: { ref: 'refs/heads/main', before: 'a', after: 'b' },
        both: { type: 'push' },
        id: 'two',
        outcome: 'parked',
      },
    },
  },
  gitlab: {
    source: 'docs.gitlab.com/user/project/integrations/webhook_events (in triggerdotdev/trigger.dev)',
    type: 'feature_flag',
    body: { object_kind: 'feature_flag', project: { id: 1 }, object_attributes: { id: 6, active: true } },
    apart: { 'a flag that is switched on again, with the same body': { id: 'two' } },
  },
  'hubspot-v3': {
    source: 'developers.hubspot.com/docs/api/webhooks, generic subscriptions',
    body: [
      {
        eventId: 3816279480,
        subscriptionId: 22,
        portalId: 33,
        occurredAt: 1462216307945,
        subscriptionType: 'contact.associationChange',
        attemptNumber: 0,
        fromObjectId: 1,
        toObjectId: 2,
        associationRemoved: false,
        isPrimaryAssociation: false,
      },
    ],
    apart: {
      'a primary association, which sends two messages': { values: { '0.isPrimaryAssociation': true } },
      'two associations of one contact in one millisecond': { values: { '0.toObjectId': 3 } },
      'an association that is removed in the same millisecond': { values: { '0.associationRemoved': true } },
      'two accounts whose objects have equal ids': { values: { '0.portalId': 34 } },
      'one change that two subscriptions ask for': { values: { '0.subscriptionId': 23 } },
      'two objects that are created at once': {
        body: [{ eventId: 1, subscriptionId: 2, objectId: 3, subscriptionType: 'contact.creation' }],
        values: { '0.objectId': 4 },
      },
      'two properties of one contact, changed at once': {
        body: [{ eventId: 1, subscriptionId: 2, objectId: 123, occurredAt: 1462216307945, propertyName: 'email' }],
        values: { '0.propertyName': 'phone' },
      },
    },
    same: { 'a retry, which counts its attempts': { values: { '0.attemptNumber': 1 } } },
  },
  intercom: {
    source: 'developers.intercom.com/docs/references/webhooks/webhook-models (in triggerdotdev/trigger.dev)',
    body: { topic: 'conversation.user.replied', id: 'notif_5f27a9e0', created_at: 1781524800, delivery_attempts: 1 },
    apart: { 'two replies in one second': { values: { id: 'notif_5f27a9e1' } } },
    same: {
      'a retry, which counts its attempts': { values: { delivery_attempts: 2 } },
      'a retry of a ping, which has no id': {
        body: { id: null, topic: 'ping', created_at: 1781524800, delivery_attempts: 1 },
        values: { delivery_attempts: 2 },
      },
      'a ping without an id and a time': { body: { id: null, topic: 'ping' } },
    },
  },
  lemonsqueezy: {
    source:
      'docs.lemonsqueezy.com/help/webhooks/webhook-requests; meta.webhook_id as several public repositories store it',
    type: 'subscription_updated',
    body: { meta: { event_name: 'subscription_updated', webhook_id: '1' }, data: { id: '1' } },
    apart: {
      'two updates in one second': { values: { 'meta.webhook_id': '2' } },
      'two updates in one second, without a webhook_id': {
        body: { meta: { event_name: 'subscription_updated' }, data: { id: '1', attributes: { status: 'active' } } },
        values: { 'data.attributes.status': 'cancelled' },
      },
      'two objects without a time of their last change': {
        body: { meta: { event_name: 'license_key_created' }, data: { id: '1', attributes: {} } },
        values: { 'data.id': '2' },
      },
    },
  },
  linear: {
    source: 'linear.app/developers/webhooks (in triggerdotdev/trigger.dev)',
    type: 'Issue.update',
    body: (now) => ({ type: 'Issue', webhookTimestamp: now.getTime(), updatedFrom: { title: 'Webhooks' } }),
    apart: { 'one issue, updated twice at once': { id: 'two', values: { updatedFrom: { priority: 1 } } } },
  },
  mailgun: {
    source: 'documentation.mailgun.com event structure, symfony/mailer Mailgun fixtures',
    body: (now) => ({
      signature: {
        timestamp: String(seconds(now)),
        token: `a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f97${now.getTime()}`,
        signature: '{signature}',
      },
      'event-data': { id: 'CPgfbmQMTCKtHW6uIWtuVe', event: 'opened', timestamp: 1521472262.908181 },
    }),
    apart: {
      'an id that is used again after a day': { values: { 'event-data.timestamp': 1521558662.908181 } },
      'one message, opened twice in one microsecond': { values: { 'event-data.id': 'Ase7i2zsRYeDXztHGENqRA' } },
    },
    same: { 'a retry, signed with a new token': {} },
  },
  meta: {
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
  mollie: {
    source: 'docs.mollie.com/reference/webhooks-new',
    body: { id: 'event_GvJ8WHrp5isUdRub9CJyH', type: 'payment-link.paid', createdAt: '2024-12-16T15:57:04.0Z' },
    apart: { 'one link, paid twice in one second': { values: { id: 'event_GvJ8WHrp5isUdRub9CJyJ' } } },
  },
  'mollie-classic': poke('docs.mollie.com/reference/webhooks', { id: 'tr_d0b0E3EA3v' }),
  notion: {
    source: 'developers.notion.com/reference/webhooks (in triggerdotdev/trigger.dev)',
    body: { id: '6b6f6b8a', type: 'page.content_updated', attempt_number: 1 },
    apart: { 'one page, updated twice in one second': { values: { id: '6b6f6b8b' } } },
    same: { 'a retry, which counts its attempts': { values: { attempt_number: 2 } } },
  },
  openai: standard(
    { id: 'evt_685343a1', created_at: 1784065200, type: 'batch.completed', data: { id: 'batch_67d1e3d6' } },
    'platform.openai.com/docs/guides/webhooks (in triggerdotdev/trigger.dev)',
  ),
  paddle: {
    source: 'hookdeck/webhook-samples paddlebilling (in triggerdotdev/trigger.dev)',
    body: { event_id: 'evt_01', occurred_at: '2024-09-09T16:00:48.444751Z', notification_id: 'ntf_1' },
    apart: { 'two events of one object in one microsecond': { values: { event_id: 'evt_02' } } },
    same: { 'a second destination, whose notification has an id of its own': { values: { notification_id: 'ntf_2' } } },
  },
  pagerduty: {
    source: 'developer.pagerduty.com/docs/webhooks (in triggerdotdev/trigger.dev)',
    body: { event: { id: '01J2Y3ZK9A', event_type: 'incident.reassigned', occurred_at: '2026-07-14T02:11:03Z' } },
    apart: { 'one incident, reassigned twice in one second': { values: { 'event.id': '01J2Y3ZK9B' } } },
    same: { 'a second subscription, whose X-Webhook-Id is another': { headers: { 'x-webhook-id': 'two' } } },
  },
  postmark: {
    source: 'postmarkapp.com/developer/webhooks: delivery, click, bounce, subscription change',
    body: { RecordType: 'SubscriptionChange', MessageID: null, ChangedAt: '2020-02-01T10:53:34Z', Recipient: 'a' },
    apart: {
      'one address, reactivated twice: MessageID is null': { values: { ChangedAt: '2020-02-01T10:53:35Z' } },
      'two addresses, reactivated at once': { values: { Recipient: 'b' } },
      'two links of one message, clicked in one second': {
        body: { RecordType: 'Click', MessageID: 'm', Recipient: 'a', ReceivedAt: '2017', OriginalLink: 'https://a' },
        values: { OriginalLink: 'https://b' },
      },
      'one message, delivered to two recipients in one second': {
        body: { RecordType: 'Delivery', MessageID: 'm', Recipient: 'a', DeliveredAt: '2014-08-01T13:28:10Z' },
        values: { Recipient: 'b' },
      },
      'one message that bounced at two addresses': {
        body: { RecordType: 'Bounce', MessageID: 'm', Email: 'a', BouncedAt: '2019-11-05T16:33:54Z' },
        values: { Email: 'b' },
      },
    },
    same: {
      'a retry with the same trace id': {
        body: { RecordType: 'Open', MessageID: 'm', ReceivedAt: '1' },
        both: { headers: { 'x-pm-webhook-trace-id': 'trace' } },
      },
      'a retry that has a trace id, unlike the first attempt': {
        headers: { 'x-pm-webhook-trace-id': 'trace' },
        outcome: 'parked',
      },
    },
  },
  razorpay: {
    source: 'razorpay.com/docs/webhooks/payloads/payments',
    body: { event: 'payment.authorized', created_at: 1567674606, payload: { payment: { entity: { id: 'pay_DESl' } } } },
    apart: { 'two payments in one second': { id: 'two', values: { 'payload.payment.entity.id': 'pay_DESm' } } },
  },
  resend: standard(
    { type: 'email.opened', created_at: '2026-06-18T09:12:03.041Z', data: { email_id: '4ef9a417' } },
    'resend.com/docs/dashboard/webhooks/introduction (in triggerdotdev/trigger.dev)',
  ),
  sendgrid: {
    source: 'twilio.com/docs/sendgrid/for-developers/tracking-events/event (in triggerdotdev/trigger.dev)',
    body: [{ email: 'a@example.com', timestamp: 1752562800, event: 'open', sg_event_id: 'rWVYmVk90MjZJ9iohOBa3w==' }],
    apart: {
      'one message, opened twice in one second': { values: { '0.sg_event_id': 'FOTFFO0ecsBE-zxFXfs6WA==' } },
      'two events without an id': {
        body: [{ email: 'one@example.com', timestamp: 1752562800, event: 'processed' }],
        values: { '0.email': 'two@example.com' },
      },
    },
  },
  sentry: {
    source: 'docs.sentry.io/integrations/integration-platform/webhooks, getsentry/sentry sentry_apps/tasks',
    type: 'issue.created',
    body: { action: 'resolved', data: { issue: { id: '4509877862268928', count: '1' } } },
    apart: { 'an issue that is resolved again': { id: 'two', values: { 'data.issue.count': '2' } } },
    same: { 'a retry, whose Request-ID is new': { id: 'two', outcome: 'parked' } },
  },
  sesmetric: {
    source: 'our own description',
    body: { id: 'one', type: 'delivery', created_at: '2026-01-01T00:00:00Z', email: 'a@example.com' },
    apart: { 'two deliveries to one address in one second': { values: { id: 'two' } } },
  },
  shopify: {
    source: 'shopify.dev/docs/apps/build/webhooks/verify-deliveries, hookdeck/webhook-samples shopify',
    type: 'products/update',
    body: { id: 632910392, title: 'Example T-Shirt', updated_at: '2021-12-31T19:00:00-05:00' },
    apart: {
      'two products of one bulk edit, which share the event id': { id: 'two', values: { id: 632910393 } },
      'an order that is created and paid, with one body': { id: 'two', type: 'orders/paid' },
    },
    same: { 'a second subscription to the topic': { id: 'two', outcome: 'parked' } },
  },
  slack: {
    source: 'docs.slack.dev/reference/events/app_mention (in triggerdotdev/trigger.dev)',
    body: { event_id: 'Ev0MDYA7HL', event_time: 1515449522, event: { type: 'reaction_added', reaction: 'tada' } },
    apart: {
      'a reaction that is added again in one second': { values: { event_id: 'Ev0MDYA7HM' } },
      'a workspace that exceeds its limit in two minutes: that event has no id': {
        body: { type: 'app_rate_limited', team_id: 'T123456', minute_rate_limited: 1518467820 },
        values: { minute_rate_limited: 1518467880 },
      },
    },
    same: {
      'a retry, signed with a new time': {
        headers: { 'x-slack-retry-num': '1', 'x-slack-retry-reason': 'http_timeout' },
      },
    },
  },
  square: {
    source: 'developer.squareup.com/reference/square/payments-api/webhooks (in triggerdotdev/trigger.dev)',
    body: { type: 'payment.updated', event_id: '13b867cf', data: { id: 'hYy9pRFVxpDsO1FB05SunFWUe9JZY' } },
    apart: { 'one payment, updated twice': { values: { event_id: '13b867d0' } } },
    same: { 'a retry': { headers: { 'square-retry-number': '1', 'square-retry-reason': 'http_timeout' } } },
  },
  standardwebhooks: standard(
    { type: 'contact.updated', timestamp: '2022-11-03T20:26:10.344522Z', data: { id: '1f81eb52' } },
    'standard-webhooks/standard-webhooks spec',
  ),
  stripe: {
    source: 'docs.stripe.com/api/events/object, stripe-node V2/Core/Events.ts',
    body: { id: 'evt_1NG8Du', created: 1686089970, pending_webhooks: 2, type: 'customer.subscription.updated' },
    apart: {
      'two updates of one subscription in one second': { values: { id: 'evt_1NG8Dv' } },
      'two events of API v2 in one millisecond': {
        body: { id: 'evt_test_65', type: 'v1.billing.meter.error', created: '2024-09-17T06:20:52.246Z' },
        values: { id: 'evt_test_66' },
      },
    },
    same: { 'a retry: fewer endpoints are waiting': { values: { pending_webhooks: 1 } } },
  },
  svix: standard({ event_type: 'invoice.paid', data: { id: 'in_1' } }, 'docs.svix.com/receiving/introduction'),
  twilio: {
    source: 'twilio.com/docs/messaging/guides/track-outbound-message-status, twilio.com/docs/voice/twiml/gather',
    body: { MessageSid: 'SMe1e2b7c8f5a34d6d', MessageStatus: 'sent', To: '+14155550142', From: '+15005550006' },
    apart: {
      'two statuses of one message': { values: { MessageStatus: 'delivered' } },
      'a message that comes in, and its status': {
        body: { MessageSid: 'SM1', SmsStatus: 'received' },
        values: { SmsStatus: 'sent' },
      },
      'a call, and its recording': { body: { CallSid: 'CA1' }, values: { RecordingSid: 'RE1' } },
      'a digit in a call': { body: { CallSid: 'CA1', CallStatus: 'in-progress' }, values: { Digits: '1' } },
      'two forms about no message and no call': {
        body: { ConversationSid: 'CH1' },
        values: { EventType: 'onMessageAdded' },
      },
      'two digits that are pressed in one call': {
        body: { CallSid: 'CA1', CallStatus: 'in-progress', Digits: '1' },
        values: { Digits: '2' },
      },
    },
    same: {
      'the same digit, pressed again in one call, which may be a replay': {
        body: { CallSid: 'CA1', CallStatus: 'in-progress', Digits: '1' },
        both: { headers: { 'i-twilio-idempotency-token': 'one' } },
        headers: { 'i-twilio-idempotency-token': 'two' },
        outcome: 'parked',
      },
    },
  },
  typeform: {
    source: 'typeform.com/developers/webhooks/example-payload (in triggerdotdev/trigger.dev)',
    body: { event_id: '01HXQ3ZK9BCONTACT01', form_response: { submitted_at: '2026-07-08T14:04:47Z' } },
    apart: { 'two equal answers in one second': { values: { event_id: '01HXQ3ZK9BCONTACT02' } } },
  },
  woocommerce: {
    source: 'woocommerce/woocommerce class-wc-webhook.php, hookdeck/webhook-samples woocommerce',
    type: 'order.updated',
    body: { id: 17, status: 'processing', total: '10.00', date_modified_gmt: '2023-03-25T16:22:37' },
    apart: {
      'two updates in one second, which share the Delivery-ID': { values: { status: 'completed' } },
      'an order that is created and updated, with one body': { id: 'two', type: 'order.created' },
      'two arguments of an action': { body: { action: 'a', arg: 1 }, values: { arg: 2 } },
      'an action that happens again with the same argument': {
        body: { action: 'woocommerce_add_to_cart', arg: 'c4ca4238a0b923820dcc509a6f75849b' },
        both: { type: 'action.woocommerce_add_to_cart' },
        id: 'two',
      },
    },
    same: {
      'a captured body under another id': { id: 'two', outcome: 'parked' },
      'a captured body, sent as an action': {
        body: { id: 17, status: 'processing' },
        both: { type: 'action.any' },
        id: 'two',
        outcome: 'parked',
      },
    },
  },
  workos: {
    source: 'workos.com/docs/events/data-syncing/webhooks (in triggerdotdev/trigger.dev)',
    body: { id: 'event_01J4QF7R2A', event: 'dsync.user.updated', created_at: '2026-07-13T09:20:01.104Z' },
    apart: { 'two updates in one millisecond': { values: { id: 'event_01J4QF7R2B' } } },
  },
  xero: {
    source: 'XeroAPI/Xero-OpenAPI xero-webhooks.yaml',
    body: {
      events: [
        {
          resourceId: '717f2bfc',
          eventDateUtc: '2017-06-21T01:15:39.902',
          eventType: 'UPDATE',
          eventCategory: 'CONTACT',
          tenantId: 'c2cc9b6e-9458-4c7d-93cc-f02b81b0594f',
        },
      ],
      lastEventSequence: 1,
      entropy: 'S0m3r4Nd0mt3xt',
    },
    apart: {
      'two contacts in one millisecond': { values: { 'events.0.resourceId': '717f2bfd' } },
      'one contact, updated twice': { values: { 'events.0.eventDateUtc': '2017-06-21T01:15:39.903' } },
      'one contact, created and updated at once': { values: { 'events.0.eventType': 'CREATE' } },
    },
    same: { 'a retry in a batch with another entropy': { values: { entropy: 'Other', lastEventSequence: 2 } } },
  },
  zoom: {
    source: 'developers.zoom.us/docs/api/webhooks (in triggerdotdev/trigger.dev), devforum.zoom.us/t/…/128602',
    body: { event: 'e', event_ts: 1752562800000, payload: { object: { uuid: '4nR0', participant: { user_id: '1' } } } },
    apart: {
      'two events without a time': { body: { event: 'e' }, values: { payload: {} } },
      'two people who join in one millisecond': { values: { 'payload.object.participant.user_id': '2' } },
      'two recordings of one meeting': { body: RECORDING, values: { 'payload.object.recording_files.0.id': 'two' } },
    },
    same: {
      'a recording that is announced again, with another token and URL': {
        body: RECORDING,
        values: { download_token: 'b', 'payload.object.recording_files.0.download_url': 'https://zoom.us/b' },
      },
    },
  },
};
