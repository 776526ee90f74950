import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'support.atlassian.com/bitbucket-cloud/docs: manage-webhooks, event-payloads, troubleshoot-webhooks',
    signature: 'hmac-sha256 hex at header:x-hub-signature#sha256',
    ...HMAC_BODY,
    id: 'x-request-uuid',
    isIdSigned: false,
    type: 'x-event-key',
    limit: 10,
    retries: said(0, 'at most two more attempts at once, after a 5xx'),
    largest: 256,
    ends: 'every answer but a 5xx, or the second retry',
    byHand: 'on the page of the request ("Resend request")',
    same: 'X-Request-UUID. An equal body under another UUID is parked as a suspected replay: an attempt, if its UUID is new, or a branch that is deleted and made again',
    open: 'whether X-Request-UUID is the same on every attempt. Bitbucket shows attempts as parts of one request, and other receivers rely on it. Whether a time-out is tried again',
  },
  accepts: { bytes: 256 * 1024 },
  pairs: {
    source: 'hookdeck/webhook-samples bitbucket (in triggerdotdev/trigger.dev)',
    type: 'pullrequest:approved',
    body: { pullrequest: { id: 3 }, approval: { date: '2023-03-08T06:12:09.954Z' } },
    events: [['msg_one', 'pullrequest:approved', null]],
    apart: {
      'the same pull request, approved again after the approval was withdrawn': {
        id: 'two',
        values: { 'approval.date': '2023-03-08T06:12:10.001Z' },
      },
    },
    same: {
      'a second attempt after a 5xx': { headers: { 'x-attempt-number': '2' } },
      'an equal body under another X-Request-UUID, such as a branch made again': { id: 'two', outcome: 'parked' },
    },
  },
  vectors: [
    {
      id: 'bitbucket/docs-hello-world',
      origin: 'provider-docs',
      source: 'support.atlassian.com/bitbucket-cloud/docs/manage-webhooks (as quoted by several repositories)',
      secret: "It's a Secret to Everybody",
      headers: { 'x-hub-signature': 'sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9' },
      body: 'Hello World!',
    },
  ],
};
