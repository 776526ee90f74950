import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'PagerDuty/developer-docs docs/webhooks/02-Behavior.md',
    signature: said(
      'hmac-sha256 hex at header:x-pagerduty-signature#v1',
      'PagerDuty/go-pagerduty webhookv3/webhookv3.go',
    ),
    ...HMAC_BODY,
    id: said('event.id', 'PagerDuty/developer-docs docs/webhooks/01-Overview.md'),
    isIdSigned: true,
    type: 'event.event_type',
    time: 'event.occurred_at (iso)',
    limit: said(5, 'custom incident actions: 16 s'),
    retries: 48,
    largest: 256,
    ends: 'any 2xx, and every 4xx but 429. After three lost events in a row the subscription is disabled for 24 hours',
    same: 'the id of the event. X-Webhook-Id is the same on every attempt too, but belongs to the subscription and is not signed',
  },
  accepts: { bytes: 256 * 1024 },
  pairs: {
    source: 'developer.pagerduty.com/docs/webhooks (in triggerdotdev/trigger.dev)',
    body: { event: { id: '01J2Y3ZK9A', event_type: 'incident.reassigned', occurred_at: '2026-07-14T02:11:03Z' } },
    events: [['01J2Y3ZK9A', 'incident.reassigned', '2026-07-14T02:11:03.000Z']],
    apart: { 'one incident, reassigned twice in one second': { values: { 'event.id': '01J2Y3ZK9B' } } },
    same: { 'a second subscription, whose X-Webhook-Id is another': { headers: { 'x-webhook-id': 'two' } } },
  },
  vectors: [
    {
      id: 'pagerduty/go-sdk-test',
      origin: 'official-sdk-test',
      source: 'PagerDuty/go-pagerduty webhookv3/webhookv3_test.go',
      secret: 'lDQHScfUeXUKaQRNF+8XIiDKZ7XX3itBAYzwU0TARw8lJqRnkKl2iB1anSb0Z+IK',
      headers: { 'x-pagerduty-signature': 'v1=0c0b9495b893a39e70d1fea2fe11fbe0a825f88b9f67846f6cc07dd2bc5476cd' },
      body: '{"event":{"id":"01BWDWL3NYY7LUFPZCC28QUCMK","event_type":"incident.priority_updated","resource_type":"incident","occurred_at":"2021-04-26T17:36:27.458Z","agent":{"html_url":"https://acme.pagerduty.com/users/PLH1HKV","id":"PLH1HKV","self":"https://api.pagerduty.com/users/PLH1HKV","summary":"Tenex Engineer","type":"user_reference"},"client":null,"data":{"id":"PGR0VU2","type":"incident","self":"https://api.pagerduty.com/incidents/PGR0VU2","html_url":"https://acme.pagerduty.com/incidents/PGR0VU2","number":2,"status":"triggered","title":"A little bump in the road","service":{"html_url":"https://acme.pagerduty.com/services/PF9KMXH","id":"PF9KMXH","self":"https://api.pagerduty.com/services/PF9KMXH","summary":"API Service","type":"service_reference"},"assignees":[{"html_url":"https://acme.pagerduty.com/users/PTUXL6G","id":"PTUXL6G","self":"https://api.pagerduty.com/users/PTUXL6G","summary":"User 123","type":"user_reference"}],"escalation_policy":{"html_url":"https://acme.pagerduty.com/escalation_policies/PUS0KTE","id":"PUS0KTE","self":"https://api.pagerduty.com/escalation_policies/PUS0KTE","summary":"Default","type":"escalation_policy_reference"},"teams":[{"html_url":"https://acme.pagerduty.com/teams/PFCVPS0","id":"PFCVPS0","self":"https://api.pagerduty.com/teams/PFCVPS0","summary":"Engineering","type":"team_reference"}],"priority":{"html_url":"https://acme.pagerduty.com/account/incident_priorities","id":"PSO75BM","self":"https://api.pagerduty.com/priorities/PSO75BM","summary":"P1","type":"priority_reference"},"urgency":"high","conference_bridge":{"conference_number":1000,"conference_url":"https://example.com"},"resolve_reason":null}}}',
    },
  ],
};
