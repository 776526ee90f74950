import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-20',
    from: 'developer.atlassian.com/cloud/jira/platform/webhooks',
    signature: said(
      'hmac-sha256 hex at header:x-hub-signature#sha256',
      'n8n-io/n8n#8822, trigger.dev webhook-sources jira.ts, nango.dev/docs/api-integrations/jira/webhooks',
    ),
    ...HMAC_BODY,
    id: said(
      'x-atlassian-webhook-identifier',
      'mrrefactoring.github.io/jira.js WebhookHeaders: unique within the site, and unchanged across retries',
    ),
    isIdSigned: false,
    type: 'webhookEvent',
    time: said('timestamp (ms)', 'trigger.dev webhook-sources jira.ts'),
    limit: null,
    retries: said(0.5, 'community.developer.atlassian.com/t/30554: up to 30 minutes later; five times'),
    ends: said(
      'any answer but 408, 409, 425, 429 and 5xx, and the fifth retry',
      'community.developer.atlassian.com/t/30554',
    ),
    same: 'X-Atlassian-Webhook-Identifier',
    open: 'the largest body, and the time limit; whether two webhooks on one address get one identifier for an event',
    limits: [
      'Only webhooks that an administrator registers with a secret are signed like this. Those of Connect, Forge and OAuth apps are not.',
    ],
  },
  pairs: {
    source: 'trigger.dev webhook-sources jira.ts',
    body: {
      timestamp: 1784065200000,
      webhookEvent: 'jira:issue_created',
      issue: { id: '10142', key: 'ENG-482' },
    },
    events: [['msg_one', 'jira:issue_created', '2026-07-14T21:40:00.000Z']],
    apart: { 'two issues that are created in one millisecond': { id: 'two', values: { 'issue.id': '10143' } } },
    same: { 'a captured body under another id': { id: 'two', outcome: 'parked' } },
  },
  vectors: [
    {
      id: 'jira/docs-hello-world',
      origin: 'provider-docs',
      source: 'developer.atlassian.com/cloud/jira/platform/webhooks: secure admin webhooks',
      note: 'body is not JSON',
      secret: "It's a Secret to Everybody",
      headers: { 'x-hub-signature': 'sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9' },
      body: 'Hello World!',
    },
    {
      id: 'jira/accepted',
      origin: 'accepted-by-others',
      source: 'webhook-co/webhook accepts it, and refuses it with another body: @de3aa4e8 packages/webhooks-spec',
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-hub-signature': 'sha256=10aa29551322837fd1d71a09dd2a3b2f0eac44aa45f77f6c19f2dc7e9d1f022c' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
