import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  sdk: { sdk: '@slack/bolt', signs: false },
  facts: {
    read: '2026-11-19',
    notFound: ['retries'],
    from: 'docs.slack.dev/apis/events-api, as hookdeck/webhook-skills skills/slack-webhooks quotes it; docs.slack.dev/reference/events/app_rate_limited',
    signature: said(
      'hmac-sha256 hex at header:x-slack-signature#v0',
      'slackapi/bolt-js src/receivers/verify-request.ts',
    ),
    covers: said('v0:{header:x-slack-request-timestamp}:{body}', 'slackapi/bolt-js src/receivers/verify-request.ts'),
    key: 'text',
    window: said('300 s, in s', 'slackapi/bolt-js src/receivers/verify-request.ts'),
    id: 'event_id',
    isIdSigned: true,
    type: 'event.type / type',
    time: 'event_time (s)',
    handshake: 'POST signed → 200',
    limit: 3,
    retries: said(
      24,
      'at once, after 1 and 5 minutes; with "Delayed Events", which were not found again, hourly for 24 h',
    ),
    ends: 'any 2xx, or x-slack-no-retry: 1. Below 5 % of successes in an hour the subscription is disabled',
    same: 'event_id; of app_rate_limited, which has none, the content',
    open: 'slackapi/node-slack-sdk#2141: one message came as several events, each with an event_id of its own and the same event_ts',
  },
  handshakes: [
    {
      body: '{"token":"legacy","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmd","type":"url_verification"}',
      signed: true,
      reply: {
        status: 200,
        headers: { 'content-type': 'text/plain' },
        text: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmd',
      },
      limited: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmd',
      unlike: [['url_verification', 'event_callback']],
    },
  ],
  pairs: {
    source: 'docs.slack.dev/reference/events/app_mention (in triggerdotdev/trigger.dev)',
    body: {
      event_id: 'Ev0MDYA7HL',
      event_time: 1515449522,
      type: 'event_callback',
      event: { type: 'reaction_added', reaction: 'tada' },
    },
    events: [['Ev0MDYA7HL', 'reaction_added', '2018-01-08T22:12:02.000Z']],
    apart: {
      'a reaction that is added again in one second': { values: { event_id: 'Ev0MDYA7HM' } },
      'a workspace that exceeds its limit in two minutes: that event has no id': {
        body: { type: 'app_rate_limited', team_id: 'T123456', minute_rate_limited: 1518467820 },
        events: [['content', 'app_rate_limited', null]],
        values: { minute_rate_limited: 1518467880 },
      },
    },
    same: {
      'a retry, signed with a new time': {
        headers: { 'x-slack-retry-num': '1', 'x-slack-retry-reason': 'http_timeout' },
      },
    },
  },
  vectors: [
    {
      id: 'slack/docs-slash-command',
      origin: 'provider-docs',
      source: 'api.slack.com/authentication/verifying-requests-from-slack (crawl copy read)',
      secret: '8f742231b10e8888abcd99yyyzzz85a5',
      headers: {
        'x-slack-request-timestamp': '1531420618',
        'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
      nowSeconds: 1531420618,
    },
  ],
};
