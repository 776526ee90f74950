import { defineProvider } from './define.ts';

export const gitlab = defineProvider({
  name: 'gitlab',
  docs: 'https://docs.gitlab.com/user/project/integrations/webhooks/',
  scheme: { token: 'header:x-gitlab-token' },
  // The event's own UUID is shared by the events that one causes in turn, so that it needs the body beside it.
  // A feature flag switched on a second time says what it said the first time; and no fingerprint helps against
  // somebody who has seen a delivery, since the token was in it.
  id: {
    at: ['{header:idempotency-key}', '{header:x-gitlab-event-uuid}:{sha256}'],
    signed: false,
    bodiesRepeat: true,
  },
  type: ['{json:object_kind}', '{header:x-gitlab-event}'],
});
