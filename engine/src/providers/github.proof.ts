import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  sdk: { sdk: '@octokit/webhooks-methods', signs: true },
  facts: {
    read: '2026-11-19',
    from: 'docs.github.com/en/webhooks',
    signature: said('hmac-sha256 hex at header:x-hub-signature-256#sha256', 'octokit/webhooks-methods.js'),
    ...HMAC_BODY,
    id: 'x-github-delivery',
    isIdSigned: false,
    replayKey: said(
      'the body, unless x-github-event is workflow_dispatch and workflow, or x-github-event is repository_dispatch and branch',
      'octokit/webhooks payload-schemas/api.github.com/{workflow_dispatch,repository_dispatch}/event.schema.json',
    ),
    type: 'x-github-event + action / x-github-event',
    limit: 10,
    retries: 0,
    largest: 25_600,
    whyLower: 'a Worker has 128 MB for all deliveries at once, and holds each body several times',
    ends: 'there are no retries',
    byHand: 'for three days, on the page of the webhook and by API, with the same id',
    same: 'X-GitHub-Delivery. Every webhook that gets the event has the same',
    limits: ['If you never receive bodies of 5 MiB, set `maxBytes` lower, because they need much memory.'],
  },
  accepts: { bytes: 5 * 1024 * 1024 },
  pairs: {
    source: 'octokit/webhooks payload-examples workflow_dispatch, repository_dispatch, watch',
    type: 'workflow_dispatch',
    body: { inputs: null, ref: 'refs/heads/master', workflow: '.github/workflows/hello.yaml' },
    events: [['msg_one', 'workflow_dispatch', null]],
    apart: {
      'a workflow that is started twice with the same inputs': { id: 'two' },
      'two equal repository_dispatch': {
        body: { action: 'on-demand-test', branch: 'master', client_payload: { unit: false } },
        events: [['msg_one', 'repository_dispatch.on-demand-test', null]],
        both: { type: 'repository_dispatch' },
        id: 'two',
      },
    },
    same: {
      'a captured body of a push, sent as a workflow that is started': {
        body: { ref: 'refs/heads/main' },
        events: [['msg_one', 'workflow_dispatch', null]],
        id: 'two',
        outcome: 'parked',
      },
      'a captured body with a text called workflow, of another event': {
        body: { workflow: 'a text' },
        events: [['msg_one', 'push', null]],
        both: { type: 'push' },
        id: 'two',
        outcome: 'parked',
      },
      'a captured body of a push, sent as repository_dispatch': {
        body: { ref: 'refs/heads/main' },
        events: [['msg_one', 'repository_dispatch', null]],
        both: { type: 'repository_dispatch' },
        id: 'two',
        outcome: 'parked',
      },
      'a captured body with a text called branch, of another event': {
        body: { branch: 'a text' },
        events: [['msg_one', 'push', null]],
        both: { type: 'push' },
        id: 'two',
        outcome: 'parked',
      },
      'a captured body under another id': {
        body: { ref: 'refs/heads/main', before: 'a', after: 'b' },
        events: [['msg_one', 'push', null]],
        both: { type: 'push' },
        id: 'two',
        outcome: 'parked',
      },
    },
  },
  vectors: [
    {
      id: 'github/docs-hello-world',
      origin: 'provider-docs',
      source: 'github.com/github/docs content/webhooks/using-webhooks/validating-webhook-deliveries.md',
      note: 'body is not JSON',
      secret: "It's a Secret to Everybody",
      headers: { 'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17' },
      body: 'Hello, World!',
    },
  ],
};
