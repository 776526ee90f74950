import { type Proof, said } from './proof.ts';

const VERIFICATION = {
  challenge: 'pogchamp-kappa-360noscope-vohiyo',
  subscription: { status: 'webhook_callback_verification_pending', type: 'channel.follow' },
};

export const proof: Proof = {
  facts: {
    read: '2026-11-20',
    from: 'dev.twitch.tv/docs/eventsub/handling-webhook-events, twitchdev/twitch-cli internal/events',
    signature: said(
      'hmac-sha256 hex at header:twitch-eventsub-message-signature#sha256',
      'twurple/twurple packages/eventsub-http/src/EventSubHttpBase.ts',
    ),
    covers: said(
      '{header:twitch-eventsub-message-id}{header:twitch-eventsub-message-timestamp}{body}',
      'twurple/twurple packages/eventsub-http/src/EventSubHttpBase.ts',
    ),
    key: 'text',
    window: said(
      '600 s, in iso',
      'dev.twitch.tv/docs/eventsub, "Guarding against replay attacks": not "older than 10 minutes"; webhook-co/webhook too',
    ),
    id: said('twitch-eventsub-message-id', 'dev.twitch.tv/docs/eventsub: an event that is sent again has the same'),
    isIdSigned: true,
    type: 'twitch-eventsub-message-type + subscription.type',
    time: said('twitch-eventsub-message-timestamp (iso)', 'twitchdev/twitch-cli cmd/events: RFC3339Nano'),
    handshake: 'POST signed → 200',
    limit: said(null, '"a few seconds"'),
    retries: null,
    ends: 'any 2xx. Twitch revokes a subscription that fails too often, and sends an event of the type `revocation.…`',
    byHand: 'none. `twitch event retrigger` of the Twitch CLI only repeats its own test events',
    same: 'Twitch-Eventsub-Message-Id',
    limits: [
      'The message type in the header is not signed. Somebody who has captured a delivery could only send it again under the same id, or the challenge as an event without content.',
      '`drop.entitlement.grant` holds several grants in one body, and is one event here.',
    ],
    open: 'how often Twitch sends an event again, and whether with a new time',
  },
  handshakes: [
    {
      headers: { 'twitch-eventsub-message-type': 'webhook_callback_verification' },
      body: JSON.stringify(VERIFICATION),
      signed: true,
      reply: { status: 200, headers: { 'content-type': 'text/plain' }, text: VERIFICATION.challenge },
      limited: VERIFICATION.challenge,
      unlike: [['"webhook_callback_verification"', '"notification"']],
    },
  ],
  accepts: { seconds: 600 },
  pairs: {
    source: 'dev.twitch.tv/docs/eventsub/handling-webhook-events, twitchdev/twitch-cli internal/models/eventsub.go',
    type: 'notification.stream.online',
    body: {
      subscription: { id: 'f1c2a387', status: 'enabled', type: 'stream.online', version: '1' },
      event: { id: '9001', broadcaster_user_id: '1337', started_at: '2020-10-11T10:11:12.123Z' },
    },
    events: [['msg_one', 'notification.stream.online', '2026-03-01T11:59:00.000Z']],
    apart: { 'two events with the same body': { id: 'two' } },
    same: {
      'a subscription that Twitch revokes': {
        body: { subscription: { status: 'authorization_revoked', type: 'stream.online' } },
        events: [['msg_one', 'revocation.stream.online', '2026-03-01T11:59:00.000Z']],
        both: { headers: { 'twitch-eventsub-message-type': 'revocation' } },
      },
    },
  },
  vectors: [
    {
      id: 'twitch/twitch-api-test',
      origin: 'third-party-test',
      source: 'twitch-rs/twitch_api src/eventsub: the test verify_request',
      note: 'the time has seven digits of a second',
      secret: 'secretabcd',
      headers: {
        'twitch-eventsub-message-id': 'ae2ff348-e102-16be-a3eb-6830c1bf38d2',
        'twitch-eventsub-message-signature': 'sha256=d10f5bd9474b7ac7bd7105eb79c2d52768b4d0cd2a135982c3bf5a1d59a78823',
        'twitch-eventsub-message-timestamp': '2021-02-19T23:47:00.8091512Z',
        'twitch-eventsub-message-type': 'notification',
      },
      body: '{"subscription":{"id":"ae2ff348-e102-16be-a3eb-6830c1bf38d2","status":"enabled","type":"channel.follow","version":"1","condition":{"broadcaster_user_id":"44429626"},"transport":{"method":"webhook","callback":"null"},"created_at":"2021-02-19T23:47:00.7621315Z"},"event":{"user_id":"28408015","user_login":"testFromUser","user_name":"testFromUser","broadcaster_user_id":"44429626","broadcaster_user_login":"44429626","broadcaster_user_name":"testBroadcaster"}}',
      nowSeconds: 1613778420,
    },
    {
      id: 'twitch/accepted',
      origin: 'accepted-by-others',
      source: 'webhook-co/webhook accepts it, and refuses it with another body: @de3aa4e8 packages/webhooks-spec',
      secret: 'own-secret-0123456789abcdef',
      headers: {
        'twitch-eventsub-message-id': 'msg_1',
        'twitch-eventsub-message-signature': 'sha256=a5dd2d385b3bb98971d6109f36d38064eede91eec1a57f7ba0cd02dd063f842d',
        'twitch-eventsub-message-timestamp': '2026-03-01T12:00:00.123456789Z',
      },
      body: '{"id":"evt_1","text":"café ☃"}',
      nowSeconds: 1772366400,
    },
  ],
};
