import { type Proof, said } from './proof.ts';

const notification = (details: object) => ({
  subscriptionId: '7f105c7d-2dc5-4530-97cd-4e7ae6534c07',
  clientState: '{token}',
  resource: 'users/{user_guid}@{tenant_guid}/messages/{long_id_string}',
  tenantId: '84bd8158-6d4d-4958-8b9f-9d6445542f95',
  ...details,
});

export const proof: Proof = {
  facts: {
    read: '2026-11-20',
    from: 'microsoftgraph/microsoft-graph-docs-contrib concepts/change-notifications-delivery-webhooks.md',
    signature: 'token at json:clientState, per item',
    covers: 'nothing',
    key: 'the token',
    id: said(
      'subscriptionId + id / every delivery',
      'microsoftgraph/microsoft-graph-docs-contrib api-reference/v1.0/resources/changenotification.md: "Unique ID for the notification. Optional."',
    ),
    isIdSigned: false,
    replayKey: 'none',
    type: said(
      'changeType / lifecycleEvent',
      'microsoftgraph/microsoft-graph-docs-contrib api-reference/v1.0/resources/changenotification.md: exactly one of them',
    ),
    batch: 'value.*',
    handshake: said(
      'POST unsigned → 200',
      'microsoftgraph/microsoft-graph-docs-contrib concepts/includes/change-notifications-delivery-notificationurl-validation.md',
    ),
    limit: 3,
    retries: 4,
    ends: 'any 2xx within 3 s, or 4 hours. Microsoft Graph delays or drops the notifications of an address that is often slower than that',
    same: 'the id of the notification, if it has one',
    limits: [
      'The `clientState` is inside the body, so it is stored with every event: who may read bodies may read it.',
      'Resource data (`encryptedContent`) is stored as it came, encrypted, and the `validationTokens` beside it are not checked. Fetch the resource instead.',
      'Subscriptions end after hours or days. Renew them, and subscribe to the lifecycle notifications at the same address.',
    ],
    open: 'for which resources there is an id, and whether a retry has the same; the form of the validation token, which "can change without notice"',
  },
  handshakes: [
    {
      method: 'POST',
      query: 'validationToken=Validation%3A+Testing+client+application',
      reply: {
        status: 200,
        headers: { 'content-type': 'text/plain' },
        text: 'Validation: Testing client application',
      },
      unlike: [
        ['Validation%3A', '%3Cb%3E'],
        ['Validation%3A', 'x'.repeat(513)],
        ['validationToken=', 'other='],
      ],
    },
  ],
  pairs: {
    source: 'microsoftgraph/microsoft-graph-docs-contrib concepts/change-notifications-delivery-webhooks.md',
    body: { value: [notification({ id: 'lsgTZMr9KwAAA', changeType: 'created' })] },
    events: [['7f105c7d-2dc5-4530-97cd-4e7ae6534c07:lsgTZMr9KwAAA', 'created', null]],
    apart: {
      'two changes of one resource': { values: { 'value.0.id': 'lsgTZMr9KwAAB' } },
      'two subscriptions to one resource': { values: { 'value.0.subscriptionId': 'another' } },
      'two changes of one resource, which say the same': {
        body: { value: [notification({ changeType: 'updated' })] },
        events: [['random', 'updated', null]],
      },
      'two notifications about the subscription itself, in one delivery': {
        body: {
          value: [
            notification({ lifecycleEvent: 'missed' }),
            notification({ lifecycleEvent: 'reauthorizationRequired' }),
          ],
        },
        events: [
          ['random', 'missed', null],
          ['random', 'reauthorizationRequired', null],
        ],
      },
    },
  },
  vectors: [
    {
      id: 'microsoft-graph/token',
      origin: 'token',
      source: 'a token, as the provider sends it: nothing is computed. webhook-co/webhook accepts it: @de3aa4e8',
      secret: 'own-secret-0123456789abcdef',
      headers: {},
      body: '{"value":[{"clientState":"own-secret-0123456789abcdef"}]}',
    },
  ],
};
