import { type OtherExample, type Proof, said } from './proof.ts';

const event = (id: string, source: string) => ({
  specversion: '1.0',
  type: 'com.twilio.messaging.message.delivered',
  source,
  id,
  time: '2026-01-31T12:00:00.000Z',
});

/** A list of Event Streams, whose hash is in the signed URL. */
const STREAM = {
  body: [event('EZ1', '/a'), event('EZ2', '/a'), event('EZ1', '/b')],
  events: [
    ['1.0:/a:EZ1', 'com.twilio.messaging.message.delivered', '2026-01-31T12:00:00.000Z'],
    ['1.0:/a:EZ2', 'com.twilio.messaging.message.delivered', '2026-01-31T12:00:00.000Z'],
    ['1.0:/b:EZ1', 'com.twilio.messaging.message.delivered', '2026-01-31T12:00:00.000Z'],
  ],
  both: { headers: { 'content-type': 'application/json' }, query: 'bodySHA256={sha256}' },
} satisfies OtherExample;

export const proof: Proof = {
  sdk: { sdk: 'twilio', signs: true },
  facts: {
    read: '2026-11-20',
    from: 'twilio.com/docs/usage/security',
    signature: said('hmac-sha1 base64 at header:x-twilio-signature', 'twilio/twilio-node src/webhooks/webhooks.ts'),
    covers: said(
      'the URL, then every form field sorted by name, or query:bodySHA256',
      'twilio/twilio-node src/webhooks/webhooks.ts',
    ),
    key: 'text',
    id: said(
      'specversion + source + id / MessageSid + MessageStatus / i-twilio-idempotency-token',
      'twilio.com/docs/events (CloudEvents: source and id), twilio.com/docs/messaging; twilio/twilio-agent-connect-python docs/horizontal-scaling.md: the header is the same on a retry',
    ),
    isIdSigned: false,
    replayKey: 'bodySHA256 + source + id / x-twilio-signature',
    type: said('MessageStatus / CallStatus / SmsStatus / type / EventType', 'twilio.com/docs/sync/webhooks: EventType'),
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
  ack: { status: 200, headers: { 'content-type': 'text/xml' }, text: '<Response/>' },
  accepts: { bytes: 256 * 1024 },
  pairs: {
    source: 'twilio.com/docs/messaging/guides/track-outbound-message-status, twilio.com/docs/voice/twiml/gather',
    body: { MessageSid: 'SMe1e2b7c8f5a34d6d', MessageStatus: 'sent', To: '+14155550142', From: '+15005550006' },
    events: [['SMe1e2b7c8f5a34d6d:sent', 'message.sent', null]],
    apart: {
      'two lists of events': { ...STREAM, values: { '0.id': 'EZ3', '1.id': 'EZ4', '2.id': 'EZ5' } },
      'two sources whose events have equal ids': {
        ...STREAM,
        values: { '0.source': '/c', '1.source': '/c', '2.source': '/d' },
      },
      'two statuses of one message': { values: { MessageStatus: 'delivered' } },
      'a message that comes in, and its status': {
        body: { MessageSid: 'SM1', SmsStatus: 'received' },
        events: [['content', 'message.received', null]],
        values: { SmsStatus: 'sent' },
      },
      'a call, and its recording': {
        body: { CallSid: 'CA1' },
        events: [['content', null, null]],
        values: { RecordingSid: 'RE1' },
      },
      'a digit in a call': {
        body: { CallSid: 'CA1', CallStatus: 'in-progress' },
        events: [['content', 'call.in-progress', null]],
        values: { Digits: '1' },
      },
      'two forms about no message and no call': {
        body: { ConversationSid: 'CH1' },
        events: [['content', null, null]],
        values: { EventType: 'onMessageAdded' },
      },
      'two changes of a document of Sync': {
        body: { ServiceSid: 'IS1', EventType: 'document_updated', DocumentSid: 'ET1', DocumentRevision: '1' },
        events: [['content', 'document_updated', null]],
        values: { DocumentRevision: '2' },
      },
      'two digits that are pressed in one call': {
        body: { CallSid: 'CA1', CallStatus: 'in-progress', Digits: '1' },
        events: [['content', 'call.in-progress', null]],
        values: { Digits: '2' },
      },
    },
    same: {
      'a list of events that comes again in another list': { ...STREAM, values: { '0.data': { more: 1 } } },
      'a retry of a message, whatever token it has': {
        body: { MessageSid: 'SM1', MessageStatus: 'sent' },
        events: [['SM1:sent', 'message.sent', null]],
        both: { headers: { 'i-twilio-idempotency-token': 'one' } },
        headers: { 'i-twilio-idempotency-token': 'two' },
      },
      'a captured form, cut into other fields that its signature fits as well': {
        body: { MessageSid: 'SM123', MessageStatus: 'sent', To: '+155' },
        events: [['SM123:sent', 'message.sent', null]],
        values: { MessageSid: 'SM123M', MessageStatus: undefined, To: undefined, essageStatus: 'sentTo+155' },
        captured: true,
        outcome: 'parked',
      },
      'a captured form, cut into the fields of an event in a list': {
        body: { MessageSid: 'SM1', MessageStatus: 'sent', idx: '1', sourcey: '2' },
        events: [['SM1:sent', 'message.sent', null]],
        values: {
          MessageSid: 'SM1M',
          MessageStatus: undefined,
          essageStatus: 'sent',
          idx: undefined,
          id: 'x1',
          sourcey: undefined,
          source: 'y2',
        },
        captured: true,
        outcome: 'parked',
      },
      'the same digit, pressed again in one call, which may be a replay': {
        body: { CallSid: 'CA1', CallStatus: 'in-progress', Digits: '1' },
        events: [['one', 'call.in-progress', null]],
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
