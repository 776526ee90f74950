import { defineProvider } from './define.ts';

export const bitbucket = defineProvider({
  name: 'bitbucket',
  docs: 'https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks/',
  scheme: { signature: 'header:x-hub-signature#sha256', encoding: 'hex', key: 'utf8', signed: '{body}' },
  id: { at: '{header:x-request-uuid}', signed: false },
  type: ['{header:x-event-key}'],
  maxBytes: 256 * 1024,
});
