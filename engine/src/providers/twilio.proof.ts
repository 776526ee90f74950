import { type Proof, said } from './proof.ts';

export const proof: Proof = {
  sdk: { sdk: 'twilio', signs: true },
  facts: {
    read: '2026-11-19',
    from: 'twilio.com/docs/usage/security',
    signature: said('hmac-sha1 base64 at header:x-twilio-signature', 'twilio/twilio-node src/webhooks/webhooks.ts'),
    covers: said(
      'the URL, then every form field sorted by name, or query:bodySHA256',
      'twilio/twilio-node src/webhooks/webhooks.ts',
    ),
    key: 'text',
    id: said(
      'specversion + source + id / MessageSid + MessageStatus / i-twilio-idempotency-token',
      'twilio.com/docs/events (CloudEvents: source and id), twilio.com/docs/messaging; PipedreamHQ/pipedream components/twilio: the header is the same on a retry',
    ),
    isIdSigned: false,
    replayKey: 'bodySHA256 + source + id / x-twilio-signature',
    type: 'MessageStatus / CallStatus / SmsStatus / type',
    time: said('time (iso)', 'twilio.com/docs/events: only Event Streams has a time'),
    batch: '*',
    answer: '200 <Response/>',
    limit: said(5, 'Event Streams: 5 s; a call or a message: 15 s (twilio.com/docs/errors/11205)'),
    retries: said(
      4,
      'Event Streams: twilio.com/docs/events/event-delivery-and-duplication; others: twilio.com/docs/usage/webhooks/webhooks-connection-overrides, once in 15 s unless #rc says 0 to 5',
    ),
    ends: 'any 2xx, or the limit that the URL sets (#rc)',
    same: 'message and status; source and id of Event Streams; otherwise the token in the header. Without it, the content. An equal form under a new token, such as the same digit pressed again, is parked',
    limits: [
      'Twilio signs the fields of a form without separators. A captured form could be split into other fields. Its signature is still the same, so it is the replay key.',
      'Two real forms may be equal as well (a caller presses the same digit twice): the second is parked, also with `bodiesRepeat`.',
    ],
  },
  pairs: {
    source: 'twilio.com/docs/messaging/guides/track-outbound-message-status, twilio.com/docs/voice/twiml/gather',
    body: { MessageSid: 'SMe1e2b7c8f5a34d6d', MessageStatus: 'sent', To: '+14155550142', From: '+15005550006' },
    apart: {
      'two statuses of one message': { values: { MessageStatus: 'delivered' } },
      'a message that comes in, and its status': {
        body: { MessageSid: 'SM1', SmsStatus: 'received' },
        values: { SmsStatus: 'sent' },
      },
      'a call, and its recording': { body: { CallSid: 'CA1' }, values: { RecordingSid: 'RE1' } },
      'a digit in a call': { body: { CallSid: 'CA1', CallStatus: 'in-progress' }, values: { Digits: '1' } },
      'two forms about no message and no call': {
        body: { ConversationSid: 'CH1' },
        values: { EventType: 'onMessageAdded' },
      },
      'two digits that are pressed in one call': {
        body: { CallSid: 'CA1', CallStatus: 'in-progress', Digits: '1' },
        values: { Digits: '2' },
      },
    },
    same: {
      'the same digit, pressed again in one call, which may be a replay': {
        body: { CallSid: 'CA1', CallStatus: 'in-progress', Digits: '1' },
        both: { headers: { 'i-twilio-idempotency-token': 'one' } },
        headers: { 'i-twilio-idempotency-token': 'two' },
        outcome: 'parked',
      },
    },
  },
  vectors: [
    {
      id: 'twilio/form-default',
      origin: 'official-sdk-test (same values as the classic Twilio docs example)',
      source: 'twilio/twilio-node spec/validation.spec.js',
      secret: '12345',
      method: 'POST',
      url: 'https://mycompany.com/myapp.php?foo=1&bar=2',
      headers: {
        'x-twilio-signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212',
    },
    {
      id: 'twilio/https-port-stripped',
      origin: 'official-sdk-test',
      source: 'twilio/twilio-node spec/validation.spec.js',
      note: 'signed without the port',
      secret: '12345',
      method: 'POST',
      url: 'https://mycompany.com:1234/myapp.php?foo=1&bar=2',
      headers: {
        'x-twilio-signature': 'RSOYDt4T1cUTdK1PDd93/VVr8B8=',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212',
    },
    {
      id: 'twilio/special-chars-percent-encoded',
      origin: 'official-sdk-test',
      source: 'twilio/twilio-node spec/validation.spec.js',
      note: 'configured URL has a raw apostrophe, Twilio signed the WHATWG-normalised form (%27)',
      secret: '12345',
      method: 'POST',
      url: "https://mycompany.com/myapp.php?foo=1&bar=2&Body=It's+amazing",
      headers: {
        'x-twilio-signature': 'TfZzewPq8wqrGlMfyAud8+/IvJ0=',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212',
    },
    {
      id: 'twilio/array-param',
      origin: 'official-sdk-test',
      source: 'twilio/twilio-node spec/validation.spec.js',
      note: 'repeated keys: values de-duplicated and sorted',
      secret: '12345',
      method: 'POST',
      url: 'https://mycompany.com/myapp.php?foo=1&bar=2',
      headers: {
        'x-twilio-signature': '83O6e2vORAoJHUNzJjDWN1jz+BA=',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: 'MessagingBinding.Address=%2B1325xxxxxxx&MessagingBinding.Address=%2B1415xxxxxxx',
    },
    {
      id: 'twilio/json-bodySHA256',
      origin: 'official-sdk-test',
      source: 'twilio/twilio-node spec/validation.spec.js',
      secret: '12345',
      method: 'POST',
      url: 'https://mycompany.com/myapp.php?foo=1&bar=2&bodySHA256=0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620',
      headers: { 'x-twilio-signature': 'a9nBmqA0ju/hNViExpshrM61xv4=', 'content-type': 'application/json' },
      body: '{"property": "value", "boolean": true}',
    },
  ],
};
