import { type Proof, said } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'docs.cdp.coinbase.com/commerce/api-arcitecture/webhooks-overview',
    signature: said(
      'hmac-sha256 hex at header:x-cc-webhook-signature',
      'coinbase/coinbase-commerce-node lib/Webhook.js',
    ),
    ...HMAC_BODY,
    id: said('event.id', 'coinbase/coinbase-commerce-node test/testWebhook.spec.js'),
    isIdSigned: true,
    type: 'event.type',
    time: 'event.created_at (iso)',
    limit: null,
    retries: 72,
    ends: '200',
    same: 'the id of the event. The id beside it belongs to the delivery',
    open: 'retired: Coinbase ended Commerce on 31 March 2026',
  },
  pairs: {
    source: 'coinbase/coinbase-commerce-node test/testWebhook.spec.js',
    body: {
      id: 1,
      attempt_number: 1,
      event: { id: '24934862', type: 'charge:created', created_at: '2017-01-31T20:49:02Z' },
    },
    events: [['24934862', 'charge:created', '2017-01-31T20:49:02.000Z']],
    apart: { 'two charges of one second': { values: { 'event.id': '24934863' } } },
    same: { 'a retry with an id of its own': { values: { id: 2, attempt_number: 2 } } },
  },
  vectors: [
    {
      id: 'coinbase-commerce/sdk-test',
      origin: 'official-sdk-test',
      source: 'coinbase/coinbase-commerce-node test/testWebhook.spec.js',
      secret: '30291a20-0bd1-4267-9b0f-e6e7b123c0bf',
      headers: { 'x-cc-webhook-signature': '8be7742c7d372f08a6a3224edadf18a22b65fa9e28f3f2de97376cdaa092590d' },
      body: '{"id":1,"scheduled_for":"2017-01-31T20:50:02Z","attempt_number":1,"event":{"id":"24934862-d980-46cb-9402-43c81b0cdba6","type":"charge:created","api_version":"2018-03-22","created_at":"2017-01-31T20:49:02Z","data":{"code":"66BEOV2A","name":"The Sovereign Individual","description":"Mastering the Transition to the Information Age","hosted_url":"https://commerce.coinbase.com/charges/66BEOV2A","created_at":"2017-01-31T20:49:02Z","expires_at":"2017-01-31T21:04:02Z","timeline":[{"time":"2017-01-31T20:49:02Z","status":"NEW"}],"metadata":{},"pricing_type":"no_price","payments":[],"addresses":{"bitcoin":"0000000000000000000000000000000000","ethereum":"0x0000000000000000000000000000000000000000","litecoin":"3000000000000000000000000000000000","bitcoincash":"bitcoincash:000000000000000000000000000000000000000000"}}}}',
    },
  ],
};
