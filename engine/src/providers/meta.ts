import { defineProvider } from './define.ts';

export const meta = defineProvider({
  name: 'meta',
  docs: 'https://developers.facebook.com/docs/graph-api/webhooks/getting-started',
  scheme: { signature: 'header:x-hub-signature-256#sha256', encoding: 'hex', key: 'utf8', signed: '{body}' },
  batch: {
    each: [
      'entry.*.changes.*.value.messages.*',
      'entry.*.changes.*.value.statuses.*',
      'entry.*.changes.*',
      'entry.*.messaging.*',
      'entry.*',
    ],
    // A message by itself doesn't say which number or page it was sent to.
    envelope: {
      list: 'contacts',
      elementIds: ['wa_id', 'user_id'],
      itemIds: [
        'from',
        'from_user_id',
        'recipient_id',
        'recipient_user_id',
        'recipient_participant_id',
        'participant_recipient_id',
        'recipient_participant_user_id',
      ],
    },
  },
  id: {
    at: [
      '{json:entry.0.changes.0.value.messages.0.id}',
      // All payment attempts and refunds of an order have the id of the message with the order. A refund repeats the
      // payment's transaction and status.
      '{json:entry.0.changes.0.value.statuses.0.id}:{json:entry.0.changes.0.value.statuses.0.status}:{json:entry.0.changes.0.value.statuses.0.payment.reference_id}:{json?:entry.0.changes.0.value.statuses.0.payment.transaction.id}:{json?:entry.0.changes.0.value.statuses.0.payment.transaction.status}:{json?:entry.0.changes.0.value.statuses.0.payment.transaction.refunds.0.status}:{json?:entry.0.changes.0.value.statuses.0.timestamp}',
      // Each member of a group has a separate status for a message. Meta's documentation spells this field in both
      // ways.
      '{json:entry.0.changes.0.value.statuses.0.id}:{json:entry.0.changes.0.value.statuses.0.status}:{json:entry.0.changes.0.value.statuses.0.recipient_participant_id}',
      '{json:entry.0.changes.0.value.statuses.0.id}:{json:entry.0.changes.0.value.statuses.0.status}:{json:entry.0.changes.0.value.statuses.0.participant_recipient_id}',
      '{json:entry.0.changes.0.value.statuses.0.id}:{json:entry.0.changes.0.value.statuses.0.status}:{json:entry.0.changes.0.value.statuses.0.recipient_participant_user_id}',
      '{json:entry.0.changes.0.value.statuses.0.id}:{json:entry.0.changes.0.value.statuses.0.status}',
      // Messenger and Instagram. Both sides of a conversation may be our accounts, so the account is part of the id. A
      // deletion repeats the message's id.
      '{json?:entry.0.id}:{json:entry.0.messaging.0.message.mid}:{json:entry.0.messaging.0.message.is_deleted}',
      '{json?:entry.0.id}:{json:entry.0.messaging.0.message.mid}',
      // A lead, or a comment on Instagram. The entry's time is when it was sent, so it is not part of the id.
      '{json?:entry.0.id}:{json:entry.0.changes.0.field}:{json:entry.0.changes.0.value.leadgen_id}',
      '{json?:entry.0.id}:{json:entry.0.changes.0.field}:{json:entry.0.changes.0.value.media.id}:{json:entry.0.changes.0.value.id}',
      // A WhatsApp error has neither an id nor a time, so every delivery counts as a new event.
      '{json:entry.0.changes.0.value.errors.0.code}:{random}',
    ],
    signed: true,
  },
  type: ['{json:object}.{json:entry.0.changes.0.field}', '{json:object}'],
  occurredAt: [
    // The entry's own time is in milliseconds if it has `messaging` or `standby`, and in seconds if it has `changes`.
    { at: ['json:entry.0.messaging.0.timestamp', 'json:entry.0.standby.0.timestamp'], unit: 'ms' },
    {
      at: [
        'json:entry.0.changes.0.value.messages.0.timestamp',
        'json:entry.0.changes.0.value.statuses.0.timestamp',
        'json:entry.0.time',
      ],
      unit: 's',
    },
  ],
  handshakes: [
    {
      method: 'GET',
      when: [
        { at: 'query:hub.mode', is: 'subscribe' },
        { at: 'query:hub.challenge', like: /^[\w.~-]{1,256}$/ },
      ],
      // A text of your choice. Don't use the app's secret, because this text is sent in a URL.
      verifyToken: 'query:hub.verify_token',
      reply: { status: 200, text: '{query:hub.challenge}' },
    },
  ],
  // "Webhook payloads can be up to 3 MB", with at most 1,000 updates.
  maxBytes: 3 * 1024 * 1024,
  retriesForDays: 7,
});
