import { type Proof, said } from './proof.ts';

const RECORDING = {
  event: 'recording.completed',
  event_ts: 1752562800000,
  download_token: 'a',
  payload: { object: { uuid: '4nR0', recording_files: [{ id: 'one', download_url: 'https://zoom.us/a' }] } },
};

export const proof: Proof = {
  sdk: { sdk: '@zoom/rivet', signs: false },
  facts: {
    read: '2026-11-19',
    from: 'developers.zoom.us/docs/api/webhooks',
    signature: said('hmac-sha256 hex at header:x-zm-signature#v0', 'zoom/rivet-javascript'),
    covers: said('v0:{header:x-zm-request-timestamp}:{body}', 'zoom/rivet-javascript'),
    key: 'text',
    window: said('7200 s, in s', 'no tolerance is documented; longer than the retries'),
    id: said(
      'event + event_ts + payload.object.uuid + payload.object.recording_files.id / event + event_ts + content',
      'devforum.zoom.us/t/…/128602: two announcements of a recording differ in the URL and the token of the download only',
    ),
    isIdSigned: true,
    type: 'event',
    time: 'event_ts (ms)',
    handshake: 'POST signed → 200',
    limit: said(3, 'devsupport.zoom.us Webhook-delays'),
    retries: said(1.42, 'devsupport.zoom.us Webhook-delays: after 5, 20 and 60 minutes'),
    ends: '200 or 204, or the third retry',
    same: 'the content with its time in milliseconds; for a recording the event, its time, the meeting and the first file',
    open: 'whether the two announcements of one recording have the same event_ts',
  },
  handshakes: [
    {
      body: '{"event":"endpoint.url_validation","event_ts":1,"payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"}}',
      signed: true,
      reply: {
        status: 200,
        headers: { 'content-type': 'application/json' },
        // printf qgg8vlvZRS6UYooatFL8Aw | openssl dgst -sha256 -hmac "$CHECK_SECRET"
        text: '{"plainToken":"qgg8vlvZRS6UYooatFL8Aw","encryptedToken":"855386c3ec695fc3387fa46b415bf6ec48e1700dd8cd04dd32e5b1a3daed92ff"}',
      },
      limited: 'qgg8vlvZRS6UYooatFL8Aw',
      unlike: [['endpoint.url_validation', 'meeting.started']],
    },
  ],
  accepts: { seconds: 2 * 3600 },
  pairs: {
    source: 'developers.zoom.us/docs/api/webhooks (in triggerdotdev/trigger.dev), devforum.zoom.us/t/…/128602',
    body: { event: 'e', event_ts: 1752562800000, payload: { object: { uuid: '4nR0', participant: { user_id: '1' } } } },
    events: [['e:1752562800000:content', 'e', '2025-07-15T07:00:00.000Z']],
    apart: {
      'two events without a time': { body: { event: 'e' }, events: [['content', 'e', null]], values: { payload: {} } },
      'two people who join in one millisecond': { values: { 'payload.object.participant.user_id': '2' } },
      'two recordings of one meeting': {
        body: RECORDING,
        events: [['recording.completed:1752562800000:4nR0:one', 'recording.completed', '2025-07-15T07:00:00.000Z']],
        values: { 'payload.object.recording_files.0.id': 'two' },
      },
    },
    same: {
      'a recording that is announced again, with another token and URL': {
        body: RECORDING,
        events: [['recording.completed:1752562800000:4nR0:one', 'recording.completed', '2025-07-15T07:00:00.000Z']],
        values: { download_token: 'b', 'payload.object.recording_files.0.download_url': 'https://zoom.us/b' },
      },
    },
  },
  vectors: [
    {
      id: 'zoom/accepted',
      origin: 'accepted-by-others',
      source: 'webhook-co/webhook accepts it, and refuses it with another body: @de3aa4e8 packages/webhooks-spec',
      secret: 'own-secret-0123456789abcdef',
      headers: {
        'x-zm-request-timestamp': '1772366400',
        'x-zm-signature': 'v0=cb4317c07b5174983c2b97c3751250b4342dd2e132bc972898d98a25dd5e41dc',
      },
      body: '{"id":"evt_1","text":"café ☃"}',
      nowSeconds: 1772366400,
    },
  ],
};
