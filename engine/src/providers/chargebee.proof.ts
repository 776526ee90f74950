import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'chargebee.com/docs: webhook_settings; support.chargebee.com 257941',
    signature: said('basic at header:authorization', 'chargebee/chargebee-node basicAuthValidator'),
    covers: 'nothing',
    key: 'the token',
    id: said('id', 'apidocs.chargebee.com/docs/api/events'),
    isIdSigned: false,
    type: 'event_type',
    time: 'occurred_at (s)',
    limit: 20,
    retries: said(79, 'seven: after 2, 6, 30 minutes, 1, 5, 24 and 48 hours'),
    notFound: ['limit'],
    ends: 'any 2xx, or the seventh retry',
    byHand: 'on the page of the event, under Logs',
    same: 'the id of the event. The state of its webhooks, which is in the body, may differ',
  },
  pairs: {
    source: 'apidocs.chargebee.com/docs/api/events',
    body: {
      id: 'ev_19AKjkUzIF9g51',
      event_type: 'payment_failed',
      occurred_at: 1702645601,
      webhook_status: 'not_configured',
    },
    events: [['ev_19AKjkUzIF9g51', 'payment_failed', '2023-12-15T13:06:41.000Z']],
    apart: { 'two failed payments in one second': { values: { id: 'ev_19AKjkUzIF9g53' } } },
    same: { 'a retry, whose webhook_status has changed': { values: { webhook_status: 're_scheduled' } } },
  },
  vectors: [
    {
      id: 'chargebee/token',
      origin: 'token',
      source: 'a token, as the provider sends it: nothing is computed',
      secret: 'hook:päss',
      headers: { authorization: 'Basic aG9vazpww6Rzcw==' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
