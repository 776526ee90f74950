import type { Provider } from './types.ts';

export const github = {
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
  // It sends no event that is larger, and what is refused for its size is lost: it never comes again.
  maxBytes: 25 * 1024 * 1024,
} as const satisfies Provider;
