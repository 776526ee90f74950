import { defineProvider } from './define.ts';
import { symmetric } from './shared-schemes.ts';

export const gitlab = defineProvider({
  name: 'gitlab',
  docs: 'https://docs.gitlab.com/user/project/integrations/webhooks/',
  // GitLab's signing token (since 19.0) is a secret of Standard Webhooks. Its older secret token is sent as it is.
  scheme: symmetric,
  otherSchemes: [{ token: 'header:x-gitlab-token' }],
  // All events that one action causes share the event's UUID, so the body's hash is added. Bodies repeat: a feature flag
  // that is switched on a second time sends the same body. A replay key would protect nothing: a webhook-id is signed, and
  // a delivery with the older token contains it.
  id: {
    at: ['{header:webhook-id}', '{header:idempotency-key}', '{header:x-gitlab-event-uuid}:{sha256}'],
    signed: false,
    bodiesRepeat: true,
  },
  // A system hook of an administrator has an `event_name` instead.
  type: ['{json:object_kind}', '{json:event_name}', '{header:x-gitlab-event}'],
  // GitLab sends bodies of up to 25 MB. As with GitHub, the limit is lower: a body is held several times.
  maxBytes: 5 * 1024 * 1024,
});
