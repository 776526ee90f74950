import { type Proof, said } from './proof.ts';

const created = {
  type: 'user.created',
  source: 'admin',
  event_id: 'event_1234567890',
  event_timestamp: '2026-02-03T12:00:00.000Z',
  timestamp: '2026-02-03T12:00:05.000Z',
  data: { user: { id: 'kp_1234567890', email: 'user@example.com' } },
};

export const proof: Proof = {
  sdk: { sdk: '@kinde/webhooks', signs: false },
  facts: {
    read: '2026-11-20',
    from: 'kinde-oss/documentation src/content/docs/integrate/webhooks/about-webhooks.mdx',
    signature: said('RS256 JWS at body:text', 'the same page (application/jwt, and the header of its example)'),
    covers: said('the event; event_id; type; source', 'npm @kinde/webhooks types.d.ts: every event has them'),
    key: said('JWKS at {issuer}/.well-known/jwks.json', 'npm @kinde/webhooks (its docs page leaves .json out)'),
    id: said('event_id', 'npm @kinde/webhooks types.d.ts; "the ID of an event that has occurred in your account"'),
    isIdSigned: true,
    type: 'type',
    time: 'event_timestamp / timestamp (iso)',
    limit: null,
    retries: said(36, 'after 5 s, 30 s, 2 min, 10 min, 1 h, 4 h, then every 12 h until 36 h'),
    ends: '200, or the last retry. A webhook that fails for 72 hours is disabled',
    same: 'the id of the event',
    limits: [
      'The secret is the address of your Kinde domain, such as `https://example.kinde.com`.',
      'A token says neither its audience nor how long it is valid: at two sources of one domain, a captured delivery of the one is accepted by the other.',
      'The payload of the token is stored, and handlers read it.',
    ],
    open: 'the time limit; whether two webhooks of one address send one event under one event_id (it is then one event)',
  },
  pairs: {
    source: 'kinde-oss/documentation src/content/docs/integrate/webhooks/about-webhooks.mdx',
    body: created,
    events: [['event_1234567890', 'user.created', '2026-02-03T12:00:00.000Z']],
    apart: { 'two events that say the same': { values: { event_id: 'event_1234567891' } } },
    same: {
      'a later attempt with a time of its own': { values: { timestamp: '2026-02-03T12:10:00.000Z' } },
      'an event of an older form, without the time of the event': {
        body: { ...created, event_timestamp: undefined },
        events: [['event_1234567890', 'user.created', '2026-02-03T12:00:05.000Z']],
      },
    },
  },
  vectors: [
    {
      id: 'kinde/own',
      origin: 'own',
      source: 'computed with jsonwebtoken, as kinde-oss/documentation describes it',
      secret:
        'https://example.kinde.com key:MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAx3LG2pWIEOgIdfSwMsKgZPAMLky0EgXJ0nUTr91Gf7k6YdLPRTvxC6q938hoC7976UWvgYQQbHxqA/X/pY4nipKiuKrsNucGksrHzIsvpb66PbwJoMuVQKYk/Memg3MyVG5qr4poP9iU46kLAUrEwyIJmcCHSmPKz4BjvgkHXv6nPZJFT4M+YExZvbzJMsa7IAUDnIRa/cD3wtK1HngDP48JLxlGL0ErC8IXB2+f2+vj9mW37dvQ9OF4TEzgzqhfGbhwdAQe23GTStWkSAg/feNEVSppuj8X+LrZE4Z1S088jYbNQ+2utbxI5kC+yxaDfpUDrNjQUFSVqXh/b6VP0QIDAQAB',
      headers: { 'content-type': 'application/jwt' },
      body: 'eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCIsImtpZCI6IjJhOmUwIn0.eyJ0eXBlIjoidXNlci5jcmVhdGVkIiwiZXZlbnRfaWQiOiJldmVudF8xIiwiZXZlbnRfdGltZXN0YW1wIjoiMjAyNi0wMi0wM1QxMjowMDowMC4wMDBaIiwic291cmNlIjoiYWRtaW4iLCJ0aW1lc3RhbXAiOiIyMDI2LTAyLTAzVDEyOjAwOjAwLjAwMFoiLCJkYXRhIjp7InRleHQiOiJjYWbDqSDimIMifX0.DUHuXwVGx3qhckw7yJoKEc6S4PVUzes28S10N30wBJXdPXkXlX6zd7L0r1WN73N7_T6COJ3Mv3kA8Ja7ZkhWNNDRsGQK3VJybTnYrFpWuSyfvZ6q7-Jwg5LwY5UIJM5cSStyZIi8CDH2CvS21QvhXc05aXQZgmThQTsWcR2KVmWGLXoRZih92KpwC6cWzB2GAt-i56mt_oiA9VDuAib1vPVw3d-oTo-G-a7HSAixeNkmfTGRlVIJOmykYFEvcGq_TP05Xl9sos5tugluYvGyjr3-WRNkhlHIY3EOqIZcTjKavLq2j5NNDrCfIIuG8BaC9hMrTXabxQ1lfvp-Radd_A',
    },
  ],
};
