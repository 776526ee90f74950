import { defineProvider } from './define.ts';

export const zendesk = defineProvider({
  name: 'zendesk',
  docs: 'https://developer.zendesk.com/documentation/webhooks/verifying/',
  scheme: {
    signature: 'header:x-zendesk-webhook-signature',
    encoding: 'base64',
    key: 'utf8',
    signed: '{header:x-zendesk-webhook-signature-timestamp}{body}',
    // Zendesk documents neither a tolerance nor when its retries come.
    timestamp: { at: 'header:x-zendesk-webhook-signature-timestamp', unit: 'iso', windowSeconds: 3600 },
  },
  id: {
    // A webhook that subscribes to events sends an envelope with an id. An administrator writes the body that a trigger
    // sends, so we can't rely on its content, and only this unsigned header identifies it.
    at: ['{json:zendesk_event_version}:{json:id}', '{header:x-zendesk-webhook-invocation-id}'],
    signed: false,
    // A trigger may send the same body each time, but the time is signed as well, so the signature differs.
    replayKey: '{header:x-zendesk-webhook-signature}',
    // It is not documented whether a retry has a new time.
    retriesDiffer: true,
  },
  type: ['{json:type}'],
  occurredAt: { at: 'json:time', unit: 'iso' },
});
