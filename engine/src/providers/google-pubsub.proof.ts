import { type Proof, said } from './proof.ts';

const push = (details: object) => ({
  subscription: 'projects/myproject/subscriptions/mysubscription',
  message: {
    attributes: { key: 'value' },
    data: 'SGVsbG8gQ2xvdWQgUHViL1N1YiEgSGVyZSBpcyBteSBtZXNzYWdlIQ==',
    messageId: '2070443601311540',
    publishTime: '2021-02-26T19:13:55.749Z',
    ...details,
  },
});

const play = (details: object) =>
  push({ data: btoa(JSON.stringify({ version: '1.0', packageName: 'com.some.thing', ...details })) });

export const proof: Proof = {
  sdk: { sdk: 'google-auth-library', signs: false },
  facts: {
    read: '2026-11-20',
    from: 'cloud.google.com/pubsub/docs/authenticate-push-subscriptions, cloud.google.com/pubsub/docs/push',
    signature: 'RS256 JWS at header:authorization',
    covers: said(
      'nothing; iss = https://accounts.google.com; aud = {audience}; email = {email}; email_verified = true; exp',
      'cloud.google.com/pubsub/docs/authenticate-push-subscriptions: the claims of the example, and what its samples check',
    ),
    key: said(
      'JWKS at https://www.googleapis.com/oauth2/v3/certs',
      'googleapis/google-auth-library-nodejs src/auth/oauth2client.ts (the same keys as PEM and JWK)',
    ),
    window: said('3660 s, in s', '"tokens can be up to an hour old", and a minute for clocks'),
    id: 'subscription + message.messageId',
    isIdSigned: false,
    type: said(
      'subscriptionNotification.notificationType / oneTimeProductNotification.notificationType / voidedPurchaseNotification.productType / message.attributes.eventType / message.attributes.type / message',
      'developer.android.com/google/play/billing/rtdn-reference; cloud.google.com/storage/docs/pubsub-notifications',
    ),
    time: said(
      'eventTimeMillis (ms) / message.publishTime (iso)',
      'developer.android.com/google/play/billing/rtdn-reference',
    ),
    limit: said(
      10,
      'docs.cloud.google.com/pubsub/docs/subscription-properties: the acknowledgement deadline, 10 to 600 s',
    ),
    retries: said(168, 'docs.cloud.google.com/pubsub/docs/subscription-properties: 7 days by default, 31 at most'),
    ends: '102, 200, 201, 202 or 204, or the end of the retention. A subscription with a dead letter topic ends after 5 to 100 attempts',
    byHand: 'a seek of the subscription sends retained messages again, with their ids',
    same: 'the id of the message at its subscription',
    largest: said(
      14_000,
      'googleapis/google-cloud-rust, publisher/constants.rs of Google Cloud: 10 MB in a message, in base64',
    ),
    whyLower: 'a Worker can hold only a few of such bodies',
    limits: [
      'The secret is two words: the audience of the subscription and the e-mail of its service account. Google signs tokens of any audience for everybody, so both are checked.',
      'The token says nothing about the body. Somebody who has captured one can send any body for an hour.',
      'Google Play’s notifications have the types `subscription.<n>`, `one_time_product.<n>` and `voided_purchase.<n>`; what has no type, such as Gmail’s, is `message`.',
      'Choose delivery with the wrapper: without it, the id of a message is not in its body.',
      'With a retention of more than 29 days, `DEDUPE_DAYS` must be longer.',
    ],
    open: 'whether Google ever writes the issuer without https://, as its library allows; no genuine token with a known key is published',
  },
  accepts: { seconds: 3660, bytes: 5 * 1024 * 1024 },
  pairs: {
    source: 'cloud.google.com/pubsub/docs/push, developer.android.com/google/play/billing/rtdn-reference',
    body: push({}),
    events: [
      ['projects/myproject/subscriptions/mysubscription:2070443601311540', 'message', '2021-02-26T19:13:55.749Z'],
    ],
    apart: {
      'two messages with the same content': { values: { 'message.messageId': '2070443601311541' } },
      'one message at two subscriptions': { values: { subscription: 'projects/myproject/subscriptions/other' } },
      'two notifications of Google Play': {
        body: play({ eventTimeMillis: '1503349566168', subscriptionNotification: { notificationType: 4 } }),
        events: [
          [
            'projects/myproject/subscriptions/mysubscription:2070443601311540',
            'subscription.4',
            '2017-08-21T21:06:06.168Z',
          ],
        ],
        values: { 'message.messageId': '2070443601311541' },
      },
      'two purchases of Google Play': {
        body: play({ eventTimeMillis: 1503349566168, oneTimeProductNotification: { notificationType: 1 } }),
        events: [
          [
            'projects/myproject/subscriptions/mysubscription:2070443601311540',
            'one_time_product.1',
            '2017-08-21T21:06:06.168Z',
          ],
        ],
        values: { 'message.messageId': '2070443601311541' },
      },
      'two refunds of Google Play': {
        body: play({ voidedPurchaseNotification: { productType: 2 } }),
        events: [
          [
            'projects/myproject/subscriptions/mysubscription:2070443601311540',
            'voided_purchase.2',
            '2021-02-26T19:13:55.749Z',
          ],
        ],
        values: { 'message.messageId': '2070443601311541' },
      },
      'two objects of Cloud Storage': {
        body: push({ attributes: { eventType: 'OBJECT_FINALIZE' } }),
        events: [
          [
            'projects/myproject/subscriptions/mysubscription:2070443601311540',
            'OBJECT_FINALIZE',
            '2021-02-26T19:13:55.749Z',
          ],
        ],
        values: { 'message.messageId': '2070443601311541' },
      },
      'two messages with a type of the publisher’s': {
        body: push({ attributes: { type: 'order.placed' } }),
        events: [
          [
            'projects/myproject/subscriptions/mysubscription:2070443601311540',
            'order.placed',
            '2021-02-26T19:13:55.749Z',
          ],
        ],
        values: { 'message.messageId': '2070443601311541' },
      },
    },
    same: { 'a later attempt, which is counted': { values: { deliveryAttempt: 5 } } },
  },
  vectors: [
    {
      id: 'google-pubsub/own',
      origin: 'own',
      source:
        'computed with jsonwebtoken, as cloud.google.com/pubsub/docs/authenticate-push-subscriptions describes it',
      secret:
        'https://hooks.example.com/webhooks/source push@project.iam.gserviceaccount.com key:MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAx3LG2pWIEOgIdfSwMsKgZPAMLky0EgXJ0nUTr91Gf7k6YdLPRTvxC6q938hoC7976UWvgYQQbHxqA/X/pY4nipKiuKrsNucGksrHzIsvpb66PbwJoMuVQKYk/Memg3MyVG5qr4poP9iU46kLAUrEwyIJmcCHSmPKz4BjvgkHXv6nPZJFT4M+YExZvbzJMsa7IAUDnIRa/cD3wtK1HngDP48JLxlGL0ErC8IXB2+f2+vj9mW37dvQ9OF4TEzgzqhfGbhwdAQe23GTStWkSAg/feNEVSppuj8X+LrZE4Z1S088jYbNQ+2utbxI5kC+yxaDfpUDrNjQUFSVqXh/b6VP0QIDAQAB',
      headers: {
        authorization:
          'Bearer eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6IjdkNjgwZDhjNzBkNDRlOTQ3MTMzY2JkNDk5ZWJjMWE2MWMzZDVhYmMifQ.eyJhdWQiOiJodHRwczovL2hvb2tzLmV4YW1wbGUuY29tL3dlYmhvb2tzL3NvdXJjZSIsImF6cCI6IjExMzc3NDI2NDQ2MzAzODMyMTk2NCIsImVtYWlsIjoicHVzaEBwcm9qZWN0LmlhbS5nc2VydmljZWFjY291bnQuY29tIiwic3ViIjoiMTEzNzc0MjY0NDYzMDM4MzIxOTY0IiwiZW1haWxfdmVyaWZpZWQiOnRydWUsImV4cCI6MTc3MjM3MDAwMCwiaWF0IjoxNzcyMzY2NDAwLCJpc3MiOiJodHRwczovL2FjY291bnRzLmdvb2dsZS5jb20ifQ.Bflmya9E2-Fybib3a-zvb-wj49fTnMkT7JdgH3FXWIlx3I3L9300Lp-1OEtTGtXNEY_dJNMw6lVAewY5dTYf9M31L1NuPINH_mD18E6gqsI0Y3N8AbK3WvcVUaas9_FJLo5dcqgm8kTerlEyPrKs8TXdSbY-9Ci0t7cuppYl_lLW0Zxav_m_Xz6VrkmpHH5RzazrxvXr_7SAh1U2aBE8qaf7tql_VWIpmQoN79v_sjhXoxPf5XmOXqrIsI42Wv3dT5-Jjrry3kaKvTzgoBY5_bq_p6M4AukzRuwQr-9BoPKkdWwtDKVMXtaCkPIY2St3BghOgl34J_6sr1UIbNvpZA',
      },
      body: '{"id":"evt_1","text":"café ☃"}',
      nowSeconds: 1772366400,
    },
  ],
};
