import { type Proof, said } from './proof.ts';

const INVITEE = {
  uri: 'https://api.calendly.com/scheduled_events/A/invitees/B',
  event: 'https://api.calendly.com/scheduled_events/A',
};

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'developer.calendly.com/api-docs/overview/webhooks: webhook-signatures, webhook-errors, webhook-timeouts',
    signature: 'hmac-sha256 hex at header:calendly-webhook-signature#v1',
    covers: '{header:calendly-webhook-signature#t}.{body}',
    key: 'text',
    window: said('300 s, in s', 'the sample of the documentation allows 3 minutes'),
    id: said(
      'event + payload.uri + payload.event + created_at? / event + payload.uri + created_at? + payload.updated_at?',
      'developer.calendly.com: Webhook Payload. created_at has no fractions in its examples; updated_at has',
    ),
    isIdSigned: true,
    type: 'event',
    time: 'created_at (iso)',
    limit: said(15, 'webhook-timeouts: 10 s to connect, 15 s to read'),
    retries: 24,
    ends: 'any 2xx; after 24 hours of failures the subscription is disabled and must be made again',
    same: 'event, object and time; for anything but an invitee also the time of the update',
    open: 'whether a retry is signed with a new time, and whether its payload is made again',
  },
  pairs: {
    source: 'developer.calendly.com/api-docs: Webhook Payload, whose examples have no fractions of a second',
    body: { event: 'invitee_no_show.created', created_at: '2020-11-23T17:51:19.000000Z', payload: INVITEE },
    events: [
      [
        'invitee_no_show.created:https://api.calendly.com/scheduled_events/A/invitees/B:https://api.calendly.com/scheduled_events/A:2020-11-23T17:51:19.000000Z',
        'invitee_no_show.created',
        '2020-11-23T17:51:19.000Z',
      ],
    ],
    apart: {
      'one invitee, marked as absent again': { values: { created_at: '2020-11-23T17:51:20.000000Z' } },
      'one type of event, updated twice in one second': {
        body: {
          event: 'event_type.updated',
          created_at: '2020-11-23T17:51:19.000000Z',
          payload: { uri: 'https://api.calendly.com/event_types/A', updated_at: '2020-11-23T17:51:18.341657Z' },
        },
        events: [
          [
            'event_type.updated:https://api.calendly.com/event_types/A:2020-11-23T17:51:19.000000Z:2020-11-23T17:51:18.341657Z',
            'event_type.updated',
            '2020-11-23T17:51:19.000Z',
          ],
        ],
        values: { 'payload.updated_at': '2020-11-23T17:51:18.341658Z' },
      },
    },
    same: {
      'a retry of an invitee without a time': {
        body: { event: 'invitee.created', payload: INVITEE },
        events: [
          [
            'invitee.created:https://api.calendly.com/scheduled_events/A/invitees/B:https://api.calendly.com/scheduled_events/A:',
            'invitee.created',
            null,
          ],
        ],
      },
      'a retry of another object without a time': {
        body: { event: 'event_type.created', payload: { uri: 'https://api.calendly.com/event_types/A' } },
        events: [['event_type.created:https://api.calendly.com/event_types/A::', 'event_type.created', null]],
      },
      'a retry of a booking whose invitee has changed in the meantime': {
        body: {
          event: 'invitee.created',
          created_at: '2020-11-23T17:51:19.000000Z',
          payload: { ...INVITEE, no_show: null, updated_at: '2020-11-23T17:51:18.341657Z' },
        },
        events: [
          [
            'invitee.created:https://api.calendly.com/scheduled_events/A/invitees/B:https://api.calendly.com/scheduled_events/A:2020-11-23T17:51:19.000000Z',
            'invitee.created',
            '2020-11-23T17:51:19.000Z',
          ],
        ],
        values: { 'payload.no_show': { uri: 'C' }, 'payload.updated_at': '2020-11-23T17:54:22.356897Z' },
      },
    },
  },
  vectors: [
    {
      id: 'calendly/accepted',
      origin: 'accepted-by-others',
      source:
        'n8n accepts it, and refuses it with another body: n8n-io/n8n@fbd9449c packages/nodes-base/nodes/Calendly/CalendlyTriggerHelpers.ts',
      secret: 'own-secret-0123456789abcdef',
      headers: {
        'calendly-webhook-signature':
          't=1772366400,v1=7e82295b04763460194c95676d22c4620e260cca2970cd6b31aba668930ef98c',
      },
      body: '{"id":"evt_1","text":"café ☃"}',
      nowSeconds: 1772366400,
    },
  ],
};
