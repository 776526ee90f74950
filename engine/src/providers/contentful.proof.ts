import { type OtherExample, type Proof, said } from './proof.ts';

const HEADERS = {
  'x-contentful-crn': 'crn:contentful:::content:spaces/s/environments/master/entries/one',
  'x-contentful-event-datetime': '2026-06-22T18:42:22.587Z',
};

/** A body that a transformation of the user has made. */
const TRANSFORMED = {
  body: { event_type: 'content changed' },
  events: [['msg_one', 'ContentManagement.Entry.publish', '2026-06-22T18:42:22.587Z']],
  both: { headers: HEADERS },
} satisfies OtherExample;

export const proof: Proof = {
  sdk: { sdk: '@contentful/node-apps-toolkit', signs: true },
  facts: {
    read: '2026-11-19',
    from: 'contentful.com/developers/docs/webhooks',
    signature: said(
      'hmac-sha256 hex at header:x-contentful-signature',
      'contentful/node-apps-toolkit src/requests/sign-request.ts',
    ),
    covers: said(
      'method, path, the headers listed in x-contentful-signed-headers, body',
      'contentful/node-apps-toolkit src/requests',
    ),
    key: said('text', 'contentful.com/developers/docs/extensibility/webhooks/secrets: 64 characters'),
    window: said('300 s, in ms', 'contentful/node-apps-toolkit src/requests/verify-request.ts: 30 s by default'),
    id: said(
      'x-contentful-idempotency-key',
      'contentful.com/developers/changelog/idempotency-key-headers-for-webhook-requests',
    ),
    isIdSigned: false,
    replayKey: said(
      'x-contentful-idempotency-key if signed / x-contentful-topic + sys.id + sys.updatedAt + content / x-contentful-topic + x-contentful-crn + x-contentful-event-datetime + content / x-contentful-topic + content',
      'a record of a real delivery: the headers exist; which ones are signed is not documented',
    ),
    type: 'x-contentful-topic',
    time: said('x-contentful-event-datetime / sys.updatedAt (iso)', 'a record of a real delivery of 2026-06-22'),
    limit: null,
    retries: 24,
    ends: 'every answer but 429 and 5xx',
    same: 'the idempotency key',
    open: 'which headers Contentful signs',
    limits: [
      'The signature covers only the headers that it lists.',
      'If a transformation makes the bodies of webhooks equal, only headers tell events apart, and somebody who has captured such a delivery can send it again for five minutes.',
    ],
  },
  pairs: {
    source: 'a webhook.site record of 2026-06-22 in a public repository (find_string x-contentful-event-datetime)',
    type: 'ContentManagement.Entry.publish',
    body: { sys: { id: '4o19ghFQzzNX9uiJifi7Hf', updatedAt: '2026-06-22T18:42:22.354Z' } },
    events: [['msg_one', 'ContentManagement.Entry.publish', '2026-06-22T18:42:22.354Z']],
    apart: {
      'an entry that is saved and published': { id: 'two', type: 'ContentManagement.Entry.save' },
      'an entry that is published twice': { id: 'two', values: { 'sys.updatedAt': '2026-06-22T18:42:22.355Z' } },
      'two entries with the same time and other fields': { id: 'two', values: { fields: { title: 'b' } } },
      'two equal bodies whose keys are signed': {
        body: { sys: { id: 'a', updatedAt: '2026-06-22T18:42:22.354Z' } },
        events: [['msg_one', 'ContentManagement.Entry.publish', '2026-06-22T18:42:22.354Z']],
        both: {
          headers: {
            'x-contentful-signed-headers':
              'x-contentful-signed-headers,x-contentful-timestamp,x-contentful-idempotency-key',
          },
        },
        id: 'two',
      },
      'a body that a transformation made, saved and published': {
        ...TRANSFORMED,
        id: 'two',
        type: 'ContentManagement.Entry.save',
      },
      'a body that a transformation made, at another time': {
        ...TRANSFORMED,
        id: 'two',
        headers: { 'x-contentful-event-datetime': '2026-06-22T18:42:22.588Z' },
      },
      'another body that a transformation made, at the same time': {
        ...TRANSFORMED,
        id: 'two',
        values: { event_type: 'b' },
      },
      'a body that a transformation made, of a webhook without those headers': {
        body: { event_type: 'content changed' },
        events: [['msg_one', 'ContentManagement.Entry.publish', null]],
        id: 'two',
        type: 'ContentManagement.Entry.save',
      },
      'another body that a transformation made, of a webhook without those headers': {
        body: { event_type: 'content changed' },
        events: [['msg_one', 'ContentManagement.Entry.publish', null]],
        id: 'two',
        values: { event_type: 'b' },
      },
      'two entries whose bodies a transformation made equal': {
        ...TRANSFORMED,
        id: 'two',
        headers: { 'x-contentful-crn': 'crn:contentful:::content:spaces/s/environments/master/entries/two' },
      },
    },
    same: {
      'a captured body under another key, with another time in a header': {
        body: { sys: { id: 'a', updatedAt: '2026-06-22T18:42:22.354Z' } },
        events: [['msg_one', 'ContentManagement.Entry.publish', '2026-06-22T18:42:22.587Z']],
        both: { headers: HEADERS },
        id: 'two',
        headers: { 'x-contentful-event-datetime': '2026-06-22T18:42:22.588Z' },
        outcome: 'parked',
      },
      'a captured body under another key, without its topic': {
        body: { event_type: 'content changed' },
        events: [['msg_one', null, null]],
        both: {
          headers: {
            'x-contentful-signed-headers': 'x-contentful-signed-headers,x-contentful-timestamp',
            'x-contentful-topic': null,
          },
        },
        id: 'two',
        outcome: 'parked',
      },
      'a second attempt': { headers: { 'x-contentful-webhook-request-attempt': '2' } },
      'a captured body under another key': { id: 'two', outcome: 'parked' },
    },
  },
  vectors: [
    {
      id: 'contentful/canonical-request',
      origin: 'generated-with-official-sdk',
      source: '@contentful/node-apps-toolkit@3.16.1',
      secret: '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
      method: 'POST',
      url: 'https://example.com/hooks/contentful',
      headers: {
        'x-contentful-topic': 'ContentManagement.Entry.publish',
        'content-type': 'application/vnd.contentful.management.v1+json',
        'x-contentful-signature': '4dd728e45a83271133c0248a94355babc0c34a64d456fa2d163b1053d6aa7cbb',
        'x-contentful-signed-headers':
          'content-type,x-contentful-signed-headers,x-contentful-timestamp,x-contentful-topic',
        'x-contentful-timestamp': '1631552400000',
      },
      body: '{"sys":{"id":"entry1","type":"Entry"}}',
      nowSeconds: 1631552400,
    },
    {
      id: 'contentful/toolkit-path',
      origin: 'third-party-test',
      source: 'prismatic-io components, contentful signature.test.ts: requests signed by the official toolkit',
      secret: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',
      url: 'https://hooks.example.com/trigger/SW5zdGFuY2VGbG93Q29uZmlnOjE=',
      headers: {
        'content-type': 'application/vnd.contentful.management.v1+json',
        'x-contentful-topic': 'ContentManagement.Entry.publish',
        'x-contentful-signature': '8dec81505760a10b542fbc36d3aa0a772b11f759eca7b2351daaf5bba8c7c6f1',
        'x-contentful-signed-headers':
          'content-type,x-contentful-signed-headers,x-contentful-timestamp,x-contentful-topic',
        'x-contentful-timestamp': '1767225600000',
      },
      body: '{"sys":{"id":"5KsDBWseXY6QegucYAoacS","type":"Entry"},"fields":{"title":{"en-US":"Hello, World!"}}}',
      nowSeconds: 1767225600,
    },
    {
      id: 'contentful/toolkit-query',
      origin: 'third-party-test',
      source: 'prismatic-io components, contentful signature.test.ts: requests signed by the official toolkit',
      secret: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',
      url: 'https://hooks.example.com/trigger/abc?foo=bar%20baz&x=1',
      headers: {
        'x-contentful-webhook-name': ' My Hook ',
        'x-contentful-signature': 'c8c83deb1a865012752f66594e6228056c826fd7227a70361b3a304e124555ec',
        'x-contentful-signed-headers': 'x-contentful-signed-headers,x-contentful-timestamp,x-contentful-webhook-name',
        'x-contentful-timestamp': '1767225600000',
      },
      body: '{"sys":{"id":"5KsDBWseXY6QegucYAoacS","type":"Entry"},"fields":{"title":{"en-US":"Hello, World!"}}}',
      nowSeconds: 1767225600,
    },
  ],
};
