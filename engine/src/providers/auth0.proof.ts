import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'auth0/docs-v2 main/docs/customize/log-streams/custom-log-streams.mdx',
    signature: 'token at header:authorization',
    covers: 'nothing',
    key: 'the token',
    id: said('log_id / data.log_id', 'triggerdotdev/trigger.dev webhook-sources auth0.ts'),
    isIdSigned: false,
    type: 'data.type',
    time: 'data.date (iso)',
    batch: '* or lines',
    limit: null,
    retries: said(
      168,
      'auth0/docs-v2 main/docs/customize/log-streams.mdx: three attempts, again and again; paused after 7 days',
    ),
    ends: 'any 2xx; the stream is paused after seven days of failures, and what is left is sent when you restart it',
    byHand: 'by a new stream with a "Starting Cursor", as far back as Auth0 keeps logs',
    same: 'the id of the log entry',
    open: 'the property names around an entry: the reference lists those of a log only, so they are from examples',
  },
  pairs: {
    source: 'auth0.com/docs/customize/log-streams/custom-log-streams (in triggerdotdev/trigger.dev)',
    body: [{ log_id: '90020250708141238000000000000000001', data: { date: '2026-07-08T14:12:38.123Z', type: 'fp' } }],
    events: [['90020250708141238000000000000000001', 'fp', '2026-07-08T14:12:38.123Z']],
    apart: {
      'two wrong passwords in one millisecond': { values: { '0.log_id': '90020250708141238000000000000000002' } },
      'the same, from a stream that has the id inside data': {
        body: [{ data: { log_id: '900201', date: '2026-07-08T14:12:38.123Z', type: 'fp' } }],
        events: [['900201', 'fp', '2026-07-08T14:12:38.123Z']],
        values: { '0.data.log_id': '900202' },
      },
    },
    same: {
      'a retry in the form of JSON Lines': {
        body: '{"log_id":"1","data":{"type":"s"}}\n{"log_id":"2","data":{"type":"f"}}\n',
        events: [
          ['1', 's', null],
          ['2', 'f', null],
        ],
      },
    },
  },
  vectors: [
    {
      id: 'auth0/token',
      origin: 'token',
      source: 'a token, as the provider sends it: nothing is computed',
      secret: 'own-secret-0123456789abcdef',
      headers: { authorization: 'own-secret-0123456789abcdef' },
      body: '[]',
    },
  ],
};
