import { randomUUID } from 'node:crypto';
import { number, PERSON, type Samples, seconds, short } from './sample.ts';

const svix = { 'svix-id': '{id}', 'svix-timestamp': '{timestamp}', 'svix-signature': 'v1,{signature}' };

/** Mail, messages, meetings and accounts. */
export const people: Samples = {
  svix: {
    types: ['invoice.created'],
    id: () => `msg_${short()}`,
    headers: svix,
    body: (id, type, now) => ({ type, timestamp: now.toISOString(), data: { id: `obj_${id.slice(4)}` } }),
  },
  clerk: {
    types: ['user.created', 'user.deleted'],
    id: () => `msg_${short()}`,
    headers: svix,
    body: (id, type, now) => ({
      object: 'event',
      type,
      timestamp: now.getTime(),
      data: { object: 'user', id: `user_${id.slice(4)}` },
    }),
  },
  resend: {
    types: ['email.delivered', 'email.bounced'],
    id: () => `msg_${short()}`,
    headers: svix,
    body: (id, type, now) => ({
      type,
      created_at: now.toISOString(),
      data: { email_id: id.slice(4), to: [PERSON], subject: 'A sample' },
    }),
  },
  mailgun: {
    types: ['delivered', 'failed'],
    id: short,
    body: (id, type, now) => ({
      signature: { timestamp: String(seconds(now)), token: `${short()}${short()}`, signature: '{signature}' },
      'event-data': { id, event: type, timestamp: now.getTime() / 1000, recipient: PERSON },
    }),
  },
  postmark: {
    types: ['Delivery', 'Open'],
    headers: { authorization: '{token}' },
    body: (id, type, now) => ({
      RecordType: type,
      MessageID: id,
      Recipient: PERSON,
      ...(type === 'Delivery' ? { DeliveredAt: now.toISOString() } : { ReceivedAt: now.toISOString() }),
    }),
  },
  sendgrid: {
    types: ['delivered', 'bounce'],
    id: short,
    body: (id, type, now) => [
      { email: PERSON, event: type, sg_event_id: id, sg_message_id: 'sample.0', timestamp: seconds(now) },
      { email: PERSON, event: 'processed', sg_event_id: `${id}-2`, sg_message_id: 'sample.0', timestamp: seconds(now) },
    ],
  },
  slack: {
    types: ['message', 'app_mention'],
    id: () => `Ev${short()}`,
    body: (id, type, now) => ({
      type: 'event_callback',
      team_id: 'T0SAMPLE',
      event_id: id,
      event_time: seconds(now),
      event: { type, user: 'U0SAMPLE', text: 'Hello', channel: 'C0SAMPLE' },
    }),
  },
  discord: {
    types: ['APPLICATION_AUTHORIZED'],
    id: number,
    body: (id, type, now) => ({
      version: 1,
      application_id: '1000000000000000001',
      type: 1,
      event: { type, timestamp: now.toISOString(), data: { integration_type: 1, scopes: [], user: { id } } },
    }),
  },
  twilio: {
    types: ['delivered', 'sent'],
    id: () => `SM${short()}`,
    body: (id, type) => ({ MessageSid: id, MessageStatus: type, From: '+15005550006', To: '+15005550009' }),
  },
  meta: {
    types: ['messages', 'feed'],
    id: () => `wamid.${short()}`,
    body: (id, type, now) => {
      const message = {
        id,
        from: '15005550009',
        timestamp: String(seconds(now)),
        type: 'text',
        text: { body: 'Hello' },
      };
      const value = { messaging_product: 'whatsapp', metadata: { phone_number_id: '1' }, messages: [message] };
      if (type === 'messages') {
        return { object: 'whatsapp_business_account', entry: [{ id: '1', changes: [{ field: type, value }] }] };
      }
      return {
        object: 'page',
        entry: [{ id: '1', time: seconds(now), changes: [{ field: type, value: { post: id } }] }],
      };
    },
  },
  zoom: {
    types: ['meeting.started', 'meeting.ended'],
    body: (id, type, now) => ({
      event: type,
      event_ts: now.getTime(),
      payload: { account_id: 'account-sample', object: { id: '1000000001', uuid: id, topic: 'A sample' } },
    }),
  },
  calendly: {
    types: ['invitee.created', 'invitee.canceled'],
    body: (id, type, now) => ({
      event: type,
      created_at: now.toISOString(),
      payload: { uri: `https://api.calendly.com/scheduled_events/sample/invitees/${id}`, email: PERSON },
    }),
  },
  calcom: {
    types: ['BOOKING_CREATED', 'BOOKING_CANCELLED'],
    id: short,
    body: (id, type, now) => ({
      triggerEvent: type,
      createdAt: now.toISOString(),
      payload: { uid: id, title: 'A sample' },
    }),
  },
  intercom: {
    types: ['conversation.user.created'],
    id: () => `notif_${randomUUID()}`,
    body: (id, type, now) => ({
      type: 'notification_event',
      id,
      topic: type,
      created_at: seconds(now),
      delivery_attempts: 1,
      data: { item: { type: 'conversation', id: '1' } },
    }),
  },
  'hubspot-v3': {
    types: ['contact.creation', 'contact.deletion'],
    id: number,
    body: (id, type, now) => [
      {
        eventId: Number(id),
        subscriptionId: 1,
        portalId: 1,
        objectId: 1,
        occurredAt: now.getTime(),
        subscriptionType: type,
        attemptNumber: 0,
      },
    ],
  },
  auth0: {
    types: ['s', 'f'],
    id: short,
    body: (id, type, now) => [{ log_id: id, data: { date: now.toISOString(), type, client_name: 'Sample' } }],
  },
  workos: {
    types: ['dsync.user.created'],
    id: () => `event_${short()}`,
    body: (id, type, now) => ({
      id,
      event: type,
      created_at: now.toISOString(),
      data: { id: 'directory_user_sample' },
    }),
  },
};
