import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'getsentry/sentry src/sentry/utils/sentry_apps/webhooks.py, src/sentry/sentry_apps/tasks/sentry_apps.py',
    signature: said(
      'hmac-sha256 hex at header:sentry-hook-signature',
      'getsentry/sentry src/sentry/sentry_apps/models/sentry_app.py',
    ),
    ...HMAC_BODY,
    id: said(
      'request-id',
      'getsentry/sentry src/sentry/sentry_apps/api/serializers/app_platform_event.py: a new uuid4 for every attempt',
    ),
    isIdSigned: false,
    type: 'sentry-hook-resource + action / sentry-hook-resource',
    limit: said(1, 'docs.sentry.io/integrations/integration-platform/webhooks'),
    retries: said(0.17, 'three attempts, five minutes apart; integrations that are not published: none'),
    ends: 'any answer but a 5xx other than 503 and 504. Our own failures are answered 503, so they are final. Only a published integration gets retries at all',
    same: "the body: a retry has a new Request-ID, and is parked as a suspected replay. Discard it. A retry of an issue's change (assigned, resolved …) is written anew: if the issue has changed, it is a second event",
    open: 'nothing else tells a retry from an event with an equal body',
  },
  pairs: {
    source: 'docs.sentry.io/integrations/integration-platform/webhooks, getsentry/sentry sentry_apps/tasks',
    type: 'issue.created',
    body: { action: 'resolved', data: { issue: { id: '4509877862268928', count: '1' } } },
    events: [['msg_one', 'issue.resolved', null]],
    apart: { 'an issue that is resolved again': { id: 'two', values: { 'data.issue.count': '2' } } },
    same: {
      'a retry of an event without an action': { body: { data: {} }, events: [['msg_one', 'issue', null]] },
      'a retry, whose Request-ID is new': { id: 'two', outcome: 'parked' },
    },
  },
  vectors: [
    {
      id: 'sentry/accepted',
      origin: 'accepted-by-others',
      source: 'webhook-co/webhook accepts it, and refuses it with another body: @de3aa4e8 packages/webhooks-spec',
      secret: 'own-secret-0123456789abcdef',
      headers: { 'sentry-hook-signature': '10aa29551322837fd1d71a09dd2a3b2f0eac44aa45f77f6c19f2dc7e9d1f022c' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
