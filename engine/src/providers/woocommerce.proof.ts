import type { Proof } from './proof.ts';
import { HMAC_BODY } from './shared-proof.ts';

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'woocommerce/woocommerce plugins/woocommerce/includes/class-wc-webhook.php',
    signature: 'hmac-sha256 base64 at header:x-wc-webhook-signature',
    ...HMAC_BODY,
    id: 'x-wc-webhook-delivery-id + content',
    isIdSigned: false,
    replayKey: 'x-wc-webhook-topic + content, unless x-wc-webhook-topic like ^action\\. and action',
    type: 'x-wc-webhook-topic',
    time: 'date_modified_gmt (iso)',
    handshake: 'POST unsigned → 200',
    limit: 60,
    retries: 0,
    ends: 'there are no retries. After more than five failures in a row (not 200 to 302) the webhook is disabled',
    same: 'the delivery id, which is made of the webhook and the second, together with the content',
    limits: [
      'The topic is in a header that is not signed. Somebody who has captured a delivery could send it again under another topic, once for each topic.',
    ],
  },
  handshakes: [
    {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'webhook_id=42',
      reply: { status: 200 },
      limited: '42',
      unlike: [['webhook_id', 'id']],
    },
  ],
  pairs: {
    source: 'woocommerce/woocommerce class-wc-webhook.php, hookdeck/webhook-samples woocommerce',
    type: 'order.updated',
    body: { id: 17, status: 'processing', total: '10.00', date_modified_gmt: '2023-03-25T16:22:37' },
    events: [['msg_one:content', 'order.updated', '2023-03-25T16:22:37.000Z']],
    apart: {
      'two updates in one second, which share the Delivery-ID': { values: { status: 'completed' } },
      'an order that is created and updated, with one body': { id: 'two', type: 'order.created' },
      'two arguments of an action': {
        body: { action: 'a', arg: 1 },
        events: [['msg_one:content', 'order.updated', null]],
        values: { arg: 2 },
      },
      'an action that happens again with the same argument': {
        body: { action: 'woocommerce_add_to_cart', arg: 'c4ca4238a0b923820dcc509a6f75849b' },
        events: [['msg_one:content', 'action.woocommerce_add_to_cart', null]],
        both: { type: 'action.woocommerce_add_to_cart' },
        id: 'two',
      },
    },
    same: {
      'a captured body under another id': { id: 'two', outcome: 'parked' },
      'a captured body with a text called action, of another topic': {
        body: { id: 17, action: 'a text' },
        events: [['msg_one:content', 'order.updated', null]],
        id: 'two',
        outcome: 'parked',
      },
      'a captured body under another id, without its topic': {
        body: { id: 17, status: 'processing' },
        events: [['msg_one:content', null, null]],
        both: { headers: { 'x-wc-webhook-topic': null } },
        id: 'two',
        outcome: 'parked',
      },
      'a captured body, sent as an action': {
        body: { id: 17, status: 'processing' },
        events: [['msg_one:content', 'action.any', null]],
        both: { type: 'action.any' },
        id: 'two',
        outcome: 'parked',
      },
    },
  },
  vectors: [
    {
      id: 'woocommerce/accepted',
      origin: 'accepted-by-others',
      source:
        'n8n accepts it, and refuses it with another body: n8n-io/n8n@fbd9449c packages/nodes-base/nodes/WooCommerce/WooCommerceTrigger.node.ts',
      secret: 'own-secret-0123456789abcdef',
      headers: { 'x-wc-webhook-signature': 'EKopVRMig3/R1xoJ3So7Lw6sRKpF939sGfLcfp0fAiw=' },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
