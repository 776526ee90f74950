import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-20',
    from: 'core.telegram.org/bots/api (in telegram-bot-sdk.com guides/webhook-updates, docs.simbot.forte.love SetWebhookApi)',
    signature: 'token at header:x-telegram-bot-api-secret-token',
    covers: 'nothing',
    key: 'the token',
    id: said('update_id', 'core.telegram.org/bots/api#update: "allows you to ignore repeated updates"'),
    isIdSigned: false,
    type: said('update', 'an update has at most one other field, whose name is its type'),
    time: said(
      'edited_message.edit_date / edited_channel_post.edit_date / message.date / channel_post.date (s)',
      'core.telegram.org/bots/api#message',
    ),
    limit: null,
    retries: said(24, 'updates "will not be kept longer than 24 hours"'),
    ends: 'any 2xx, or "a reasonable amount of attempts"',
    same: 'update_id',
    limits: [
      'Every update has the type `update`: a handler looks which field it has (`message`, `callback_query` …). Choose what Telegram sends by `allowed_updates` of setWebhook.',
      'One source is for one bot, because two bots may use the same `update_id`.',
    ],
    open: 'the time limit; which updates besides messages have a time',
  },
  pairs: {
    source: 'trigger.dev webhook-sources telegram.ts',
    body: { update_id: 397587257, message: { message_id: 486, date: 1752562800, text: 'Hello' } },
    events: [['397587257', 'update', '2025-07-15T07:00:00.000Z']],
    apart: {
      'two updates with one text, in one second': { values: { update_id: 397587258 } },
    },
    same: {
      'a number that is used again after a week, which may be a forgery': {
        values: { 'message.text': 'Bye' },
        outcome: 'parked',
      },
      'a message that is edited': {
        body: { update_id: 1, edited_message: { date: 1752562800, edit_date: 1752562845 } },
        events: [['1', 'update', '2025-07-15T07:00:45.000Z']],
      },
      'a post of a channel': {
        body: { update_id: 1, channel_post: { date: 1752562800 } },
        events: [['1', 'update', '2025-07-15T07:00:00.000Z']],
      },
      'a post of a channel that is edited': {
        body: { update_id: 1, edited_channel_post: { date: 1752562800, edit_date: 1752562845 } },
        events: [['1', 'update', '2025-07-15T07:00:45.000Z']],
      },
      'a button that is pressed': {
        body: { update_id: 1, callback_query: { id: '4382174950123456789' } },
        events: [['1', 'update', null]],
      },
    },
  },
  vectors: [
    {
      id: 'telegram/token',
      origin: 'token',
      source: 'a token, as the provider sends it: nothing is computed',
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-telegram-bot-api-secret-token': 'own-secret-0123456789abcdef' },
      body: '{"update_id":1}',
    },
  ],
};
