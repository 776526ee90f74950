import { defineProvider } from './define.ts';

export const jira = defineProvider({
  name: 'jira',
  docs: 'https://developer.atlassian.com/cloud/jira/platform/webhooks/',
  scheme: { signature: 'header:x-hub-signature#sha256', encoding: 'hex', key: 'utf8', signed: '{body}' },
  // A retry has the same id. The body contains a time in milliseconds, so two events have different bodies.
  id: { at: '{header:x-atlassian-webhook-identifier}', signed: false },
  type: ['{json:webhookEvent}'],
  occurredAt: { at: 'json:timestamp', unit: 'ms' },
});
