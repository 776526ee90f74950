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
  // The same id comes again on a manual redelivery. GitHub never retries by itself.
  id: { at: '{header:x-github-delivery}', signed: false },
  // `issues.opened`, but plain `push`: not every event has an action.
  type: ['{header:x-github-event}.{json:action}', '{header:x-github-event}'],
  // What is refused for its size is lost, since it never comes again. GitHub goes up to 25 MB, but several copies of such
  // a body would take the isolate's 128 MB, and the deliveries beside it, along.
  maxBytes: 5 * 1024 * 1024,
});
