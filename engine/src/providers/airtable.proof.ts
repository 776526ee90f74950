import { type Proof, said } from './proof.ts';
import { pokePairs } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'airtable.com/developers/web/api/webhooks-overview',
    signature: 'hmac-sha256 hex at header:x-airtable-content-mac#hmac-sha256',
    covers: '{body}',
    key: 'base64',
    id: 'every delivery',
    isIdSigned: false,
    replayKey: 'none',
    type: 'changed',
    time: 'timestamp (iso)',
    answer: '204 empty',
    limit: 25,
    retries: said(24, 'thirteen retries from 10 seconds on, in about one day'),
    ends: '200 or 204, or the thirteenth retry, which switches notifications off until the API switches them on. The webhook itself expires after seven days, unless it is refreshed or its payloads are listed',
    same: 'nothing: a notification only says that a base has changed, and a handler lists its payloads. One may come for several changes, or for none',
  },
  ack: { status: 204 },
  pairs: pokePairs(
    'airtable.com/developers/web/api/webhooks-overview',
    { base: { id: 'app00000000000000' }, timestamp: '2022-02-01T21:25:05.663Z' },
    ['random', 'changed', '2022-02-01T21:25:05.663Z'],
  ),
  vectors: [
    {
      id: 'airtable/pyairtable-test',
      origin: 'third-party-test',
      source: 'gtalarico/pyairtable tests/test_models_webhook.py',
      secret: 'c2VjcmV0LWtleQ==',
      headers: {
        'x-airtable-content-mac': 'hmac-sha256=e26da696a90933647bddc83995c3e1e3bb1c3d8ce1ff61cb7469767d50b2b2d4',
      },
      body: '{"base": {"id": "app00000000000000"}, "webhook": {"id": "ach00000000000000"}, "timestamp": "2022-02-01T21:25:05.663Z"}',
    },
  ],
};
