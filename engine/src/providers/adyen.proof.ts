import { type Proof, said } from './proof.ts';

const ITEM = 'notificationItems.0.NotificationRequestItem';

const item = (fields: object) => ({
  notificationItems: [
    {
      NotificationRequestItem: {
        additionalData: { hmacSignature: '{signature}' },
        eventCode: 'AUTHORISATION',
        eventDate: '2023-03-08T10:45:05+01:00',
        success: 'true',
        ...fields,
      },
    },
  ],
});

export const proof: Proof = {
  facts: {
    read: '2026-11-19',
    from: 'docs.adyen.com/development-resources/webhooks: handle-webhook-events, troubleshoot',
    signature: said(
      'hmac-sha256 base64 at json:additionalData.hmacSignature, per item',
      'Adyen/adyen-node-api-library src/utils/hmacValidator.ts',
    ),
    covers: said(
      '{json?:pspReference}:{json?:originalReference}:{json?:merchantAccountCode}:{json?:merchantReference}:{json?:amount.value}:{json?:amount.currency}:{json?:eventCode}:{json?:success}',
      'Adyen/adyen-node-api-library src/utils/hmacValidator.ts',
    ),
    key: said('hex', 'Adyen/adyen-node-api-library src/utils/hmacValidator.ts'),
    id: said(
      'eventCode + pspReference + success',
      'handle-webhook-events: what is sent twice has the same eventCode and pspReference. An authorisation may fail and then succeed',
    ),
    isIdSigned: true,
    replayKey: 'additionalData.hmacSignature',
    type: 'eventCode',
    time: 'eventDate (iso)',
    batch: 'notificationItems.*.NotificationRequestItem',
    answer: said('200 [accepted]', 'dev.to/adyen: [accepted] was required, and any 2xx is enough for new webhooks'),
    limit: said(10, 'docs.adyen.com/japan-sellers-screening/webhooks'),
    retries: said(720, 'troubleshoot: three at once, then after 2 minutes to 8 hours for 30 days'),
    ends: 'any 2xx; a queue of failed events is tried for 30 days, in order',
    same: 'event code, PSP reference and success. If Adyen sends it again with a later date and other details, the first one has run: fetch the details',
    limits: [
      "Adyen signs eight fields of each item, joined with colons. The other fields, such as `eventDate`, are not signed: don't rely on them.",
      'A signed field may contain colons itself, so a captured item could be split into other fields. Its signature is still the same, so it is the replay key.',
    ],
  },
  ack: { status: 200, headers: { 'content-type': 'text/plain;charset=UTF-8' }, text: '[accepted]' },
  pairs: {
    source: 'hookdeck/webhook-samples adyen (in triggerdotdev/trigger.dev), docs.adyen.com webhooks',
    body: {
      notificationItems: [
        {
          NotificationRequestItem: {
            additionalData: { hmacSignature: '{signature}' },
            eventCode: 'AUTHORISATION',
            eventDate: '2023-03-08T10:45:05+01:00',
            pspReference: 'NGAO2BVQFXJ7XZDP',
            success: 'false',
          },
        },
      ],
    },
    events: [['AUTHORISATION:NGAO2BVQFXJ7XZDP:false', 'AUTHORISATION', '2023-03-08T09:45:05.000Z']],
    apart: {
      'an authorisation that failed, and then succeeded': {
        values: { 'notificationItems.0.NotificationRequestItem.success': 'true' },
      },
    },
    same: {
      'a captured item, cut into other fields that its signature fits as well': {
        body: item({ pspReference: 'psp', merchantAccountCode: 'Account', merchantReference: 'a:b' }),
        events: [['AUTHORISATION:psp:true', 'AUTHORISATION', '2023-03-08T09:45:05.000Z']],
        values: {
          [`${ITEM}.pspReference`]: 'psp:',
          [`${ITEM}.originalReference`]: 'Account',
          [`${ITEM}.merchantAccountCode`]: 'a',
          [`${ITEM}.merchantReference`]: 'b',
        },
        captured: true,
        outcome: 'parked',
      },
      'the same event with a later date, which is not signed': {
        values: { 'notificationItems.0.NotificationRequestItem.eventDate': '2023-03-08T10:47:05+01:00' },
      },
    },
  },
  vectors: [
    {
      id: 'adyen/payments-event',
      origin: 'official-sdk-test',
      source: 'Adyen/adyen-node-api-library src/__tests__/hmacValidator.spec.ts',
      note: "the envelope was put around the item of the SDK's test, of which eight fields are signed",
      secret: 'DFB1EB5485895CFA84146406857104ABB4CBCABDC8AAF103A624C8F6A3EAAB00',
      headers: {},
      body: '{"live":"false","notificationItems":[{"NotificationRequestItem":{"pspReference":"pspReference","originalReference":"originalReference","merchantAccountCode":"merchantAccount","merchantReference":"reference","amount":{"currency":"EUR","value":1000},"eventCode":"EVENT","success":"true","additionalData":{"hmacSignature":"ipnxGCaUZ4l8TUW75a71/ghd2Fe5ffvX0pV4TLTntIc="}}}]}',
    },
  ],
};
