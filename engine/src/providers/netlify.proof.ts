import { type Proof, said } from './proof.ts';

const deploy = {
  id: '5ebc34bf4fea0b01f02efa3a',
  site_id: 'fa4dd95a-994e-4f89-8a7a-2d9e9fc36a32',
  state: 'ready',
  locked: null,
  created_at: '2020-05-13T17:56:15.346Z',
  updated_at: '2020-05-13T17:58:56.738Z',
};
const claimed = '5ebc34bf4fea0b01f02efa3a:ready::2020-05-13T17:58:56.738Z';

export const proof: Proof = {
  sdk: { sdk: 'jsonwebtoken', signs: true, by: 'others' },
  facts: {
    read: '2026-11-20',
    from: 'docs.netlify.com/site-deploys/notifications, "Payload signature"',
    signature: said('HS256 JWS at header:x-webhook-signature', 'the page’s example (Ruby’s JWT library)'),
    covers: said(
      'the body, by sha256; iss = netlify',
      'the same page; an open repository’s test of "the same signature bitballoon’s Hook::HttpTrigger.sign produces"',
    ),
    key: 'text',
    id: said('id + state? + locked? + updated_at?', 'gitlab.com/jamietanna/www-api issue 107: a genuine body'),
    isIdSigned: true,
    type: said('x-netlify-event', 'jd-ftf/github-bot: it reads the event from this header'),
    time: said('updated_at / created_at (iso)', 'gitlab.com/jamietanna/www-api issue 107: a genuine body'),
    limit: null,
    retries: null,
    ends: 'not documented',
    same: 'id, state, lock and time of the deploy. Two notifications of one change at one address are one event',
    limits: [
      'The type is in a header that is not signed. Somebody who has captured a delivery could only send it again as a duplicate.',
      'Two kinds of notifications for one change (a deploy succeeded, and a previously failed one did) have one body: give each a source of its own if you need both.',
    ],
    open: 'whether a failed notification is sent again; whether a lock changes updated_at',
  },
  pairs: {
    source: 'gitlab.com/jamietanna/www-api issue 107 (a body of Netlify’s)',
    type: 'deploy_created',
    body: deploy,
    events: [[claimed, 'deploy_created', '2020-05-13T17:58:56.738Z']],
    apart: {
      'two deploys': { values: { id: '5ebc34bf4fea0b01f02efa3b' } },
      'a deploy that is built, and then ready': { values: { state: 'building' } },
      'a deploy that is locked': { values: { locked: true } },
      'a deploy that is published again': { values: { updated_at: '2020-05-14T17:58:56.738Z' } },
      'two submissions of a form': {
        body: { id: '5', form_id: '7', created_at: '2020-05-13T17:56:15.346Z' },
        both: { type: 'submission_created' },
        events: [['5:::', 'submission_created', '2020-05-13T17:56:15.346Z']],
        values: { id: '6' },
      },
    },
  },
  vectors: [
    {
      id: 'netlify/own',
      origin: 'own',
      source: 'computed with jsonwebtoken, as docs.netlify.com describes it',
      secret: 'own-secret-0123456789abcdef',
      headers: {
        'x-webhook-signature':
          'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJuZXRsaWZ5Iiwic2hhMjU2IjoiYTMyODRiNWU3YjhkMzQ1ZTQ5YWJiMjg4ZDBmOWJkYzJhMmI4MzcyOWMxNDVmZDBhYjEyMjM5Y2MzMDA1M2Q2MSJ9.43VpMoBLKK78_EqFtKNpOySob8ObIOtxQ5lGvo07yUQ',
      },
      body: '{"id":"evt_1","text":"café ☃"}',
    },
  ],
};
