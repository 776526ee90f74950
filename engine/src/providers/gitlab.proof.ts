import { type Proof, said } from './proof.ts';
import { STANDARD_SPEC } from './shared-proof.ts';

/** The older secret token, without a signature. */
const TOKEN = {
  'x-gitlab-token': '{secret}',
  'webhook-id': null,
  'webhook-timestamp': null,
  'webhook-signature': null,
};

export const proof: Proof = {
  sdk: { sdk: 'standardwebhooks', signs: true },
  facts: {
    read: '2026-11-20',
    from: 'docs.gitlab.com/user/project/integrations/webhooks',
    signature: said(
      'hmac-sha256 base64 at header:webhook-signature#v1 or token at header:x-gitlab-token',
      'gitlab-org/gitlab!230944, !231325',
    ),
    covers: said('{header:webhook-id}.{header:webhook-timestamp}.{body} or nothing', 'gitlab-org/gitlab!230944'),
    key: said('base64 after whsec_ or the token', 'gitlab-org/gitlab!231325: whsec_ and 32 bytes in base64'),
    window: said('300 s, in s or none', STANDARD_SPEC),
    id: said(
      'webhook-id / idempotency-key / x-gitlab-event-uuid + content',
      'gitlab-org/gitlab!230944: webhook-id equals the Idempotency-Key',
    ),
    isIdSigned: false,
    replayKey: 'none',
    type: said('object_kind / event_name / x-gitlab-event', 'gitlabhq/gitlabhq doc/administration/system_hooks.md'),
    limit: 10,
    retries: said(
      0,
      'gitlabhq/gitlabhq app/services/web_hook_service.rb: a failed request is logged and not raised, so the `retry: 4` of app/workers/web_hook_worker.rb is only for a job of GitLab that is interrupted',
    ),
    largest: 25_600,
    whyLower: 'a Worker has 128 MB for all deliveries at once, and holds each body several times',
    ends: 'any 2xx. Four failures in a row (4xx, 5xx, no answer) switch the webhook off for a minute to a day, and 40 for good',
    byHand: said(
      'on the page of the webhook and by API, with the same idempotency key',
      'gitlab-org/gitlab!151130 (API), !160952 (key)',
    ),
    same: 'the idempotency key. A project hook and a group hook on one address send two events',
    open: 'an interrupted job of GitLab may send a delivery up to four times more, with the same idempotency key. The signing token is in GitLab 19.0 and later; with the older secret token nothing is signed',
  },
  accepts: { bytes: 5 * 1024 * 1024 },
  pairs: {
    source: 'docs.gitlab.com/user/project/integrations/webhook_events (in triggerdotdev/trigger.dev)',
    type: 'feature_flag',
    body: { object_kind: 'feature_flag', project: { id: 1 }, object_attributes: { id: 6, active: true } },
    events: [['msg_one', 'feature_flag', null]],
    apart: {
      'a flag that is switched on again, with the same body': { id: 'two' },
      'the same, from a GitLab that signs nothing': {
        body: { object_kind: 'feature_flag', object_attributes: { id: 6, active: true } },
        events: [['msg_one', 'feature_flag', null]],
        both: { headers: { ...TOKEN, 'x-gitlab-event-uuid': 'uuid' } },
        id: 'two',
      },
      'a user who is blocked, from a system hook': {
        body: { event_name: 'user_failed_login', user_id: 26, state: 'blocked' },
        events: [['msg_one', 'user_failed_login', null]],
        both: { headers: { 'x-gitlab-event': 'System Hook' } },
        id: 'two',
      },
      'two events of one action, from a GitLab without idempotency keys': {
        body: { object_attributes: { id: 6, active: true } },
        events: [['uuid:content', 'Feature Flag Hook', null]],
        both: {
          headers: {
            ...TOKEN,
            'idempotency-key': null,
            'x-gitlab-event-uuid': 'uuid',
            'x-gitlab-event': 'Feature Flag Hook',
          },
        },
        values: { 'object_attributes.id': 7 },
      },
      'one event that happens twice, from a GitLab without idempotency keys': {
        body: { object_kind: 'feature_flag' },
        events: [['uuid:content', 'feature_flag', null]],
        both: { headers: { ...TOKEN, 'idempotency-key': null, 'x-gitlab-event-uuid': 'uuid' } },
        headers: { 'x-gitlab-event-uuid': 'another' },
      },
    },
    same: {
      'a captured delivery with another idempotency key, which is not signed': {
        headers: { 'idempotency-key': 'another' },
        captured: true,
      },
    },
  },
  vectors: [
    {
      id: 'gitlab/token',
      origin: 'token',
      source: 'a token, as the provider sends it: nothing is computed',
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-gitlab-token': 'own-secret-0123456789abcdef' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
