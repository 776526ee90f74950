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
    // These events contain neither a time nor a counter, so repeating the same action sends the same body. Only they
    // have a text at the place next to their name. github_app_authorization is not listed, because its body contains
    // only the action and the person, so there is no such place.
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
  // GitHub sends bodies of up to 25 MB and doesn't resend a refused one. The limit is still lower, because several
  // copies of a body are in memory, and if the isolate's 128 MB run out, its other deliveries fail as well.
  maxBytes: 5 * 1024 * 1024,
});
