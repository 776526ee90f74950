import { defineProvider } from './define.ts';
import { symmetric } from './shared-schemes.ts';

export const gitlab = defineProvider({
  name: 'gitlab',
  docs: 'https://docs.gitlab.com/user/project/integrations/webhooks/',
  // GitLab's signing token (since 19.0) is a Standard Webhooks secret. Its older secret token is sent unchanged.
  scheme: symmetric,
  otherSchemes: [{ token: 'header:x-gitlab-token' }],
  // All events of one action share the event's UUID, so the body's hash is added. Bodies repeat: a feature flag that is
  // switched on a second time sends the same body. A replay key would not help, because a webhook-id is signed, and a
  // delivery with the older token contains that token.
  id: {
    at: ['{header:webhook-id}', '{header:idempotency-key}', '{header:x-gitlab-event-uuid}:{sha256}'],
    signed: false,
    bodiesRepeat: true,
  },
  // A system hook of an administrator has an `event_name` instead.
  type: ['{json:object_kind}', '{json:event_name}', '{header:x-gitlab-event}'],
  // GitLab sends bodies of up to 25 MB. The limit is lower for the same reason as GitHub's.
  maxBytes: 5 * 1024 * 1024,
});
