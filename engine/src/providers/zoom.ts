import { defineProvider } from './define.ts';

export const zoom = defineProvider({
  name: 'zoom',
  docs: 'https://developers.zoom.us/docs/api/webhooks/',
  scheme: {
    signature: 'header:x-zm-signature#v0',
    encoding: 'hex',
    key: 'utf8',
    signed: 'v0:{header:x-zm-request-timestamp}:{body}',
    // Zoom documents no tolerance. The last retry comes after 85 minutes, perhaps with the time of the first attempt.
    timestamp: { at: 'header:x-zm-request-timestamp', unit: 's', windowSeconds: 2 * 3600 },
  },
  // There is no id. Two people can join a meeting at the same moment, so the content is part of the id. The exception
  // is a recording, which may be announced twice with different download tokens and URLs.
  id: {
    at: [
      '{json:event}:{json:event_ts}:{json:payload.object.uuid}:{json:payload.object.recording_files.0.id}',
      '{json:event}:{json:event_ts}:{sha256}',
    ],
    signed: true,
  },
  type: ['{json:event}'],
  occurredAt: { at: 'json:event_ts', unit: 'ms' },
  handshakes: [
    {
      method: 'POST',
      // Zoom repeats this request every 72 hours.
      signed: true,
      when: [
        { at: 'json:event', is: 'endpoint.url_validation' },
        { at: 'json:payload.plainToken', like: /^[\w.~-]{1,256}$/ },
      ],
      reply: {
        status: 200,
        json: { plainToken: '{json:payload.plainToken}', encryptedToken: '{hmac-hex:json:payload.plainToken}' },
      },
    },
  ],
});
