import { type Proof, said } from './proof.ts';

const NOTIFICATIONS = 'developer.apple.com/documentation/appstoreservernotifications';

const subscribed = {
  notificationType: 'SUBSCRIBED',
  subtype: 'INITIAL_BUY',
  notificationUUID: '8b7a3bdf-9c0b-4f04-9c14-71cae1cd1d8d',
  version: '2.0',
  signedDate: 1779556800000,
  data: { appAppleId: 1234567890, bundleId: 'com.example.app', environment: 'Sandbox', status: 1 },
};

export const proof: Proof = {
  facts: {
    read: '2026-11-20',
    from: `npm @apple/app-store-server-library dist/jws_verification.js, ${NOTIFICATIONS}/signedpayload`,
    signature: 'ES256 JWS at json:signedPayload',
    covers: said(
      'the event; notificationType; notificationUUID; data.bundleId or summary.bundleId or externalPurchaseToken.bundleId or appData.bundleId = {bundleId}; data.environment or summary.environment or appData.environment = {environment}',
      'npm @apple/app-store-server-library: verifyAndDecodeNotification',
    ),
    key: said(
      'chain of 2a864886f76364060b01 and 2a864886f76364060201 to 63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179',
      'npm @apple/app-store-server-library: verifyCertificateChainWithoutCaching; REAL_APPLE_ROOT_BASE64_ENCODED in its tests, and the fingerprint that others published',
    ),
    id: said(
      'notificationUUID',
      'Apple’s engineer in forums.developer.apple.com/forums/thread/756151: "retries always have the same"',
    ),
    isIdSigned: true,
    type: 'notificationType + subtype / notificationType',
    time: 'signedDate (ms)',
    limit: null,
    retries: said(
      157,
      `${NOTIFICATIONS}/responding-to-app-store-server-notifications: 1, 12, 24, 48 and 72 h after the previous attempt`,
    ),
    ends: '200 to 206, or the fifth retry',
    byHand: 'Get Notification History of the App Store Server API lists what was missed, each with its signed payload',
    same: 'notificationUUID. Apple repeats some requests (`CONSUMPTION_REQUEST`) as new notifications',
    limits: [
      'The secret is two words: the bundle id of the app, and `Production` or `Sandbox`. The two environments need a source each.',
      'The payload of the token is stored. The tokens inside it (`data.signedTransactionInfo`) stay as they are: they came from Apple, and a handler may decode them without verifying them again.',
      'Choose version 2 of the notifications: version 1 is not signed.',
      'A revoked certificate is not noticed: that would be a call to Apple for each delivery.',
    ],
    open: 'how long Apple waits for an answer; whether a retry is signed anew; a token of an external purchase doesn’t say its environment',
  },
  pairs: {
    source: 'api-evangelist/ios examples/app-store-server-notification-subscribed-example.json',
    body: subscribed,
    events: [['8b7a3bdf-9c0b-4f04-9c14-71cae1cd1d8d', 'SUBSCRIBED.INITIAL_BUY', '2026-05-23T17:20:00.000Z']],
    apart: {
      'two notifications that say the same': { values: { notificationUUID: '8b7a3bdf-9c0b-4f04-9c14-71cae1cd1d8e' } },
      'two summaries': {
        body: {
          notificationType: 'RENEWAL_EXTENSION',
          notificationUUID: 'one',
          signedDate: 1779556800000,
          summary: { bundleId: 'com.example.app', environment: 'Sandbox' },
        },
        events: [['one', 'RENEWAL_EXTENSION', '2026-05-23T17:20:00.000Z']],
        values: { notificationUUID: 'two' },
      },
      'two tokens of external purchases': {
        body: {
          notificationType: 'EXTERNAL_PURCHASE_TOKEN',
          notificationUUID: 'one',
          signedDate: 1779556800000,
          externalPurchaseToken: { bundleId: 'com.example.app' },
        },
        events: [['one', 'EXTERNAL_PURCHASE_TOKEN', '2026-05-23T17:20:00.000Z']],
        values: { notificationUUID: 'two' },
      },
      'two changes of an app': {
        body: {
          notificationType: 'RESCIND_CONSENT',
          notificationUUID: 'one',
          signedDate: 1779556800000,
          appData: { bundleId: 'com.example.app', environment: 'Sandbox' },
        },
        events: [['one', 'RESCIND_CONSENT', '2026-05-23T17:20:00.000Z']],
        values: { notificationUUID: 'two' },
      },
    },
    same: { 'a retry that is signed anew': { values: { signedDate: 1779556860000 } } },
  },
  vectors: [
    {
      id: 'apple/test-notification',
      origin: 'official-sdk-test',
      source: 'apple/app-store-server-library-node tests/resources/mock_signed_data/testNotification',
      note: 'the key is that of the leaf in its chain, which ends at a root for tests',
      secret:
        'com.example Sandbox key:MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE4rWBxGmFbnPIPQI0zsBKzLxsj8pD2vqbr0yPISUx2WQyxmrNql9fhK8YEEyYFV7++p5i4YUSR/o9uQIgCPIhrA==',
      headers: {},
      body: '{"signedPayload":"eyJ4NWMiOlsiTUlJQm9EQ0NBVWFnQXdJQkFnSUJDekFLQmdncWhrak9QUVFEQWpCTk1Rc3dDUVlEVlFRR0V3SlZVekVUTUJFR0ExVUVDQXdLUTJGc2FXWnZjbTVwWVRFU01CQUdBMVVFQnd3SlEzVndaWEowYVc1dk1SVXdFd1lEVlFRS0RBeEpiblJsY20xbFpHbGhkR1V3SGhjTk1qTXdNVEEwTVRZek56TXhXaGNOTXpJeE1qTXhNVFl6TnpNeFdqQkZNUXN3Q1FZRFZRUUdFd0pWVXpFVE1CRUdBMVVFQ0F3S1EyRnNhV1p2Y201cFlURVNNQkFHQTFVRUJ3d0pRM1Z3WlhKMGFXNXZNUTB3Q3dZRFZRUUtEQVJNWldGbU1Ga3dFd1lIS29aSXpqMENBUVlJS29aSXpqMERBUWNEUWdBRTRyV0J4R21GYm5QSVBRSTB6c0JLekx4c2o4cEQydnFicjB5UElTVXgyV1F5eG1yTnFsOWZoSzhZRUV5WUZWNysrcDVpNFlVU1Ivbzl1UUlnQ1BJaHJLTWZNQjB3Q1FZRFZSMFRCQUl3QURBUUJnb3Foa2lHOTJOa0Jnc0JCQUlUQURBS0JnZ3Foa2pPUFFRREFnTklBREJGQWlFQWtpRVprb0ZNa2o0Z1huK1E5alhRWk1qWjJnbmpaM2FNOE5ZcmdmVFVpdlFDSURKWVowRmFMZTduU0lVMkxXTFRrNXRYVENjNEU4R0pTWWYvc1lSeEVGaWUiLCJNSUlCbHpDQ0FUMmdBd0lCQWdJQkJqQUtCZ2dxaGtqT1BRUURBakEyTVFzd0NRWURWUVFHRXdKVlV6RVRNQkVHQTFVRUNBd0tRMkZzYVdadmNtNXBZVEVTTUJBR0ExVUVCd3dKUTNWd1pYSjBhVzV2TUI0WERUSXpNREV3TkRFMk1qWXdNVm9YRFRNeU1USXpNVEUyTWpZd01Wb3dUVEVMTUFrR0ExVUVCaE1DVlZNeEV6QVJCZ05WQkFnTUNrTmhiR2xtYjNKdWFXRXhFakFRQmdOVkJBY01DVU4xY0dWeWRHbHViekVWTUJNR0ExVUVDZ3dNU1c1MFpYSnRaV1JwWVhSbE1Ga3dFd1lIS29aSXpqMENBUVlJS29aSXpqMERBUWNEUWdBRUZRM2xYMnNxTjlHSXdBaWlNUURRQy9reW5TZ1g0N1J3dmlET3RNWFh2eUtkUWU2Q1BzUzNqbzJ1UkR1RXFBeFdlT2lDcmpsRFdzeXo1d3dkVTBndGFxTWxNQ013RHdZRFZSMFRCQWd3QmdFQi93SUJBREFRQmdvcWhraUc5Mk5rQmdJQkJBSVRBREFLQmdncWhrak9QUVFEQWdOSUFEQkZBaUVBdm56TWNWMjY4Y1JiMS9GcHlWMUVoVDNXRnZPenJCVVdQNi9Ub1RoRmF2TUNJRmJhNXQ2WUt5MFIySkR0eHF0T2pKeTY2bDZWN2QvUHJBRE5wa21JUFcraSIsIk1JSUJYRENDQVFJQ0NRQ2ZqVFVHTERuUjlqQUtCZ2dxaGtqT1BRUURBekEyTVFzd0NRWURWUVFHRXdKVlV6RVRNQkVHQTFVRUNBd0tRMkZzYVdadmNtNXBZVEVTTUJBR0ExVUVCd3dKUTNWd1pYSjBhVzV2TUI0WERUSXpNREV3TkRFMk1qQXpNbG9YRFRNek1ERXdNVEUyTWpBek1sb3dOakVMTUFrR0ExVUVCaE1DVlZNeEV6QVJCZ05WQkFnTUNrTmhiR2xtYjNKdWFXRXhFakFRQmdOVkJBY01DVU4xY0dWeWRHbHViekJaTUJNR0J5cUdTTTQ5QWdFR0NDcUdTTTQ5QXdFSEEwSUFCSFB2d1pmb0tMS2FPclgvV2U0cU9iWFNuYTVUZFdIVlo2aElSQTF3MG9jM1FDVDBJbzJwbHlEQjMvTVZsazJ0YzRLR0U4VGlxVzdpYlE2WmM5VjY0azB3Q2dZSUtvWkl6ajBFQXdNRFNBQXdSUUloQU1USGhXdGJBUU4waFN4SVhjUDRDS3JEQ0gvZ3N4V3B4NmpUWkxUZVorRlBBaUIzNW53azVxMHpjSXBlZnZZSjBNVS95R0dIU1dlejBicTBwRFlVTy9ubUR3PT0iXSwidHlwIjoiSldUIiwiYWxnIjoiRVMyNTYifQ.eyJkYXRhIjp7ImFwcEFwcGxlSWQiOjEyMzQsImVudmlyb25tZW50IjoiU2FuZGJveCIsImJ1bmRsZUlkIjoiY29tLmV4YW1wbGUifSwibm90aWZpY2F0aW9uVVVJRCI6IjlhZDU2YmQyLTBiYzYtNDJlMC1hZjI0LWZkOTk2ZDg3YTFlNiIsInNpZ25lZERhdGUiOjE2ODEzMTQzMjQwMDAsIm5vdGlmaWNhdGlvblR5cGUiOiJURVNUIn0.VVXYwuNm2Y3XsOUva-BozqatRCsDuykA7xIe_CCRw6aIAAxJ1nb2sw871jfZ6dcgNhUuhoZ93hfbc1v_5zB7Og"}',
    },
  ],
};
