import { defineProvider } from './define.ts';

export const gitlab = defineProvider({
  name: 'gitlab',
  docs: 'https://docs.gitlab.com/user/project/integrations/webhooks/',
  scheme: { token: 'header:x-gitlab-token' },
  // All events that one action causes share the event's UUID, so the body's hash is added. Bodies repeat: a feature
  // flag that is switched on a second time sends the same body. A replay key would protect nothing, because a delivery
  // contains the token: somebody who has seen one can send any body.
  id: {
    at: ['{header:idempotency-key}', '{header:x-gitlab-event-uuid}:{sha256}'],
    signed: false,
    bodiesRepeat: true,
  },
  type: ['{json:object_kind}', '{header:x-gitlab-event}'],
});
