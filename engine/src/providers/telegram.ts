import { defineProvider } from './define.ts';

export const telegram = defineProvider({
  name: 'telegram',
  docs: 'https://core.telegram.org/bots/api#setwebhook',
  // The `secret_token` of setWebhook.
  scheme: { token: 'header:x-telegram-bot-api-secret-token' },
  // Unique for one bot. After a week without updates, Telegram continues from a random number. If that number was
  // already used, the body differs, so it counts as another event.
  id: { at: '{json:update_id}', signed: false },
  // The type of an update is the name of the only other field.
  type: ['update'],
  occurredAt: {
    at: [
      'json:edited_message.edit_date',
      'json:edited_channel_post.edit_date',
      'json:message.date',
      'json:channel_post.date',
    ],
    unit: 's',
  },
  retriesForDays: 1,
});
