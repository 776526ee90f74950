import { type ClaimedEvent, type Pairs, RETRY, said } from './proof.ts';

export const HMAC_BODY = { covers: '{body}', key: 'text' } as const;

export const STANDARD_SPEC = 'standard-webhooks/standard-webhooks spec/standard-webhooks.md';
export const SVIX_DOCS = 'svix/svix-docs content';

/** Standard Webhooks: the spec says that each attempt is signed with its own time. */
export const standardFacts = (prefix: 'webhook' | 'svix') =>
  ({
    signature: `hmac-sha256 base64 at header:${prefix}-signature#v1`,
    covers: `{header:${prefix}-id}.{header:${prefix}-timestamp}.{body}`,
    key: 'base64 after whsec_',
    window: '300 s, in s',
    id: `${prefix}-id`,
    isIdSigned: true,
  }) as const;

export const svixDelivery = {
  limit: said(15, `${SVIX_DOCS}/retries.mdx`),
  retries: said(27.6, `${SVIX_DOCS}/retries.mdx: after 5 s, 5 min, 30 min, 2, 5, 10 and 10 h`),
  ends: said(
    'any 2xx, the last retry, or an answer with `webhook-delivery: abort-message`; the endpoint is disabled after five days of failures',
    `${SVIX_DOCS}/retries.mdx, receiving/delivery-control.mdx`,
  ),
} as const;

export const standardPairs = (body: object, event: ClaimedEvent, source: string): Pairs => ({
  source,
  body,
  events: [event],
  apart: { 'two events with the same body': { id: 'msg_two' } },
});

/** A poke only says that something has changed, so every delivery counts as a new event. */
export const pokePairs = (source: string, body: object, event: ClaimedEvent): Pairs => ({
  source,
  body,
  events: [event],
  apart: { 'two changes, which say the same': {} },
  same: { [RETRY]: { outcome: 'accepted' } },
});
