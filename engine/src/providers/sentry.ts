import { defineProvider } from './define.ts';

export const sentry = defineProvider({
  name: 'sentry',
  docs: 'https://docs.sentry.io/organization/integrations/integration-platform/webhooks/',
  // The time in sentry-hook-timestamp is not signed, so it is not checked.
  scheme: { signature: 'header:sentry-hook-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
  // This id is new for every attempt, so a retry is parked as a suspected replay. If the content were the id, equal
  // events would be lost. Sentry writes the body of a retry anew, so if the issue has changed in the meantime, the
  // retry counts as a second event.
  id: { at: '{header:request-id}', signed: false },
  type: ['{header:sentry-hook-resource}.{json:action}', '{header:sentry-hook-resource}'],
});
