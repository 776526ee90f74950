import { defineProvider } from './define.ts';

export const github = defineProvider({
  name: 'github',
  docs: 'https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries',
  scheme: {
    signature: 'header:x-hub-signature-256#sha256',
    encoding: 'hex',
    key: 'utf8',
    signed: '{body}',
  },
  // A manual redelivery has the same id. GitHub never retries by itself.
  id: {
    at: '{header:x-github-delivery}',
    signed: false,
    // These have neither a time nor a counter, so what is done again has the same body again. Only these events have a text
    // at the place beside their name. github_app_authorization has none: its body holds nothing but the action and who did it.
    bodiesRepeat: [
      [{ at: 'header:x-github-event', is: 'workflow_dispatch' }, { at: 'json:workflow' }],
      [{ at: 'header:x-github-event', is: 'repository_dispatch' }, { at: 'json:branch' }],
      [{ at: 'header:x-github-event', is: 'membership' }, { at: 'json:scope' }],
      [{ at: 'header:x-github-event', is: 'organization' }, { at: 'json:membership.user.login' }],
      [{ at: 'header:x-github-event', is: 'org_block' }, { at: 'json:blocked_user.login' }],
    ],
  },
  // For example `issues.opened`, or `push` for an event without an action.
  type: ['{header:x-github-event}.{json:action}', '{header:x-github-event}'],
  // GitHub sends bodies of up to 25 MB, and one that we refuse is not sent again. The limit is lower nevertheless: a
  // body is held several times, and if the isolate's 128 MB run out, its other deliveries fail as well.
  maxBytes: 5 * 1024 * 1024,
});
