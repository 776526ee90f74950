import { defineProvider } from './define.ts';

export const sentry = defineProvider({
  name: 'sentry',
  docs: 'https://docs.sentry.io/organization/integrations/integration-platform/webhooks/',
  // The time in sentry-hook-timestamp is not signed, so it is not checked.
  scheme: { signature: 'header:sentry-hook-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
  // New for every attempt, so a retry is parked as a suspected replay. By their content, equal events would be lost. The
  // retry of an issue's change is written anew, so it is a second event if the issue has changed in the meantime.
  id: { at: '{header:request-id}', signed: false },
  type: ['{header:sentry-hook-resource}.{json:action}', '{header:sentry-hook-resource}'],
});
