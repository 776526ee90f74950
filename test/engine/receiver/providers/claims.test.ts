import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { madeUpKeys } from '../../../../scripts/samples/sign.ts';
import { formAsJson } from '../../../../src/shared/json.ts';
import { verify } from '../../../../src/verify/index.ts';
import {
  deliver,
  names,
  providerOf,
  type Sent,
  signedSpots,
  URL_TOLD,
  withBody,
  withHeader,
} from '../../verify/deliveries.ts';
import { useProviders } from './running.ts';
import { sources } from './sources.ts';

const running = useProviders();
const { outcomeOf, sample, send, sql } = running;

interface Row {
  event_id: string;
  type: string | null;
  occurred_at: Date | null;
  fingerprint: string | null;
  body: string;
}

const claimed = (source: string) =>
  sql<Row>(
    `select event_id, type, occurred_at, fingerprint, body from webhooks.events join webhooks.bodies using (source, event_id)
     where source = $1 order by event_id`,
    [source],
  );

const ACCEPTED = { status: 'accepted' };

beforeEach(() => sql('truncate webhooks.events cascade'));

/** What providers want to hear that our JSON isn't. */
const ACKS: Record<string, [status: number, type: string | null, body: string]> = {
  airtable: [204, null, ''],
  discord: [204, null, ''],
  xero: [200, null, ''],
  twilio: [200, 'text/xml', '<Response/>'],
  adyen: [200, 'text/plain;charset=UTF-8', '[accepted]'],
};

describe.each(names)('a sample of %s', (name) => {
  const provider = providerOf(name);
  const poke = provider.id.at === '{random}';

  it('is claimed once, with its type, its time and its body, and acknowledged', async () => {
    // Some providers sign whole seconds.
    const now = new Date(Math.floor(Date.now() / 1000) * 1000);
    const sent = sample(name, { now });
    const answer = await send(name, sent);
    const [status, type, body] = ACKS[name] ?? [200, 'application/json', undefined];
    expect([answer.status, answer.headers.get('content-type')]).toEqual([status, type]);
    expect(answer.headers.get('set-cookie')).toBeNull();
    const text = await answer.text();
    if (body === undefined) expect(JSON.parse(text)).toMatchObject(ACCEPTED);
    else expect(text).toBe(body);

    const rows = await claimed(name);
    expect(rows.length).toBe(name === 'sendgrid' ? 2 : 1);
    for (const row of rows) {
      expect(row.type === null).toBe(provider.type.length === 0);
      expect(row.occurred_at === null).toBe(provider.occurredAt === undefined || isUndated(name));
      if (row.occurred_at) expect(row.occurred_at).toEqual(now);
      expect(typeof JSON.parse(row.body)).toBe('object');
      if (!provider.batch && !provider.form) expect(row.body).toBe(sent.text);
    }

    expect(await outcomeOf(name, sent)).toBe(poke ? 'accepted' : 'duplicate');
  });

  it('with a wrong signature or token is refused, and nothing of it is kept', async () => {
    const sent = sample(name, { keys: madeUpKeys(provider) });
    expect((await send(name, sent)).status).toBe(401);
    expect(await claimed(name)).toEqual([]);
  });

  const { id } = provider;
  const idHeaders = headersOf([id.at].flat());
  const free = idHeaders.filter((header) => !headersOf([id.replayKey ?? ''].flat()).includes(header));
  // GitLab signs its id if it has a signing token, as the sample's source does.
  const isSigned = signedSpots(name, deliver(name)).some(({ place }) =>
    free.some((header) => place === `header:${header}`),
  );
  // Twilio's sample, a message and its status, needs no header.
  if (name !== 'twilio' && !id.signed && !isSigned && free.length > 0) {
    it(`whose unsigned id is replaced is ${id.bodiesRepeat === true ? 'another event' : 'parked as a suspected replay'}`, async () => {
      const sent = sample(name);
      expect(await outcomeOf(name, sent)).toBe('accepted');
      const replayed = free.reduce((changed, header) => withHeader(changed, header, (value) => `${value}-new`), sent);
      expect(await outcomeOf(name, replayed)).toBe(id.bodiesRepeat === true ? 'accepted' : 'parked');
    });
  }
});

/** Samples hold no time that isn't already in the signature. */
function isUndated(name: string): boolean {
  return ['shopify', 'twilio'].includes(name);
}

function headersOf(templates: readonly string[]): string[] {
  return templates.flatMap((at) => Array.from(at.matchAll(/\{header:([^}]+)\}/g), ([, header = '']) => header));
}

describe('what may come only once', () => {
  it('a token of Mailgun with another body is a suspected replay', async () => {
    const sent = sample('mailgun');
    expect(await outcomeOf('mailgun', sent)).toBe('accepted');
    const forged = withBody(
      sent,
      sent.text.replace('"delivered"', '"failed"').replace(/"id":"[^"]+"/, '"id":"forged"'),
    );
    expect(await outcomeOf('mailgun', forged)).toBe('parked');
    const token = JSON.parse(sent.text).signature.token;
    const fingerprint = createHash('sha256').update(token).digest('hex');
    expect((await claimed('mailgun')).map((row) => row.fingerprint)).toEqual([fingerprint, fingerprint]);
  });

  it.each([
    ['shopify', 'x-shopify-topic', ['x-shopify-webhook-id']],
    ['woocommerce', 'x-wc-webhook-topic', ['x-wc-webhook-delivery-id']],
  ] as const)('one body of %s under two of %s is two events', async (name, header, ids) => {
    const sent = sample(name);
    const renamed = ids.reduce((changed, id) => withHeader(changed, id, () => 'another'), sent);
    const other = withHeader(renamed, header, () => 'orders/updated');
    expect([await outcomeOf(name, sent), await outcomeOf(name, other)]).toEqual(['accepted', 'accepted']);
    expect([await outcomeOf(name, sent), await outcomeOf(name, other)]).toEqual(['duplicate', 'duplicate']);
  });

  it('what is saved and then published is two events for Contentful, though it says the same', async () => {
    const body = '{"sys":{"id":"1","updatedAt":"2026-01-01T00:00:00Z"}}';
    const outcomes = [];
    for (const [id, type] of [
      ['one', 'ContentManagement.Entry.save'],
      ['two', 'ContentManagement.Entry.publish'],
      ['three', 'ContentManagement.Entry.publish'],
    ] as const) {
      outcomes.push(await outcomeOf('contentful', sample('contentful', { id, type, body })));
    }
    expect(outcomes).toEqual(['accepted', 'accepted', 'parked']);
  });

  it('a body that repeats is another event if the source says so, and a token of Mailgun is still a suspected replay', async () => {
    const repeated = async (name: string, header: string) => {
      const sent = sample(name, { source: `${name}-repeats` });
      const again = withHeader(sent, header, () => 'another');
      const outcomes = [];
      for (const one of [sent, again, sent]) outcomes.push(await outcomeOf(`${name}-repeats`, one));
      return outcomes;
    };
    expect(await repeated('github', 'x-github-delivery')).toEqual(['accepted', 'accepted', 'duplicate']);
    expect(await repeated('shopify', 'x-shopify-webhook-id')).toEqual(['accepted', 'accepted', 'duplicate']);
    const mail = sample('mailgun', { source: 'mailgun-repeats' });
    expect(await outcomeOf('mailgun-repeats', mail)).toBe('accepted');
    const forged = withBody(mail, mail.text.replace(/"id":"[^"]+"/, '"id":"forged"'));
    expect(await outcomeOf('mailgun-repeats', forged)).toBe('parked');
  });

  it('the same body of WooCommerce is a new event each time a source says that bodies repeat: deleted, restored, deleted', async () => {
    const source = 'woocommerce-repeats';
    const deleted = (id: string) => sample('woocommerce', { source, id, type: 'product.deleted', body: '{"id":42}' });
    const outcomes = [];
    for (const id of ['first second', 'later', 'first second']) outcomes.push(await outcomeOf(source, deleted(id)));
    expect(outcomes).toEqual(['accepted', 'accepted', 'duplicate']);
  });

  it('a form of Twilio cut into other fields, which its signature fits as well, is a suspected replay', async () => {
    const sent = sample('twilio', { body: 'MessageSid=SM123&MessageStatus=sent&To=%2B155' });
    expect(await outcomeOf('twilio', sent)).toBe('accepted');
    const cut = withBody(sent, 'MessageSid=SM123M&essageStatus=sentTo%2B155');
    expect(await outcomeOf('twilio', cut)).toBe('parked');
  });

  it('an item of Adyen cut into other fields, which its signature fits as well, is a suspected replay', async () => {
    const { text, ...sent } = sample('adyen', { id: 'psp' });
    const [{ NotificationRequestItem: item }] = JSON.parse(text).notificationItems;
    const withItem = (fields: object) =>
      JSON.stringify({ live: 'false', notificationItems: [{ NotificationRequestItem: { ...item, ...fields } }] });
    const body = withItem({ merchantReference: 'a:b', additionalData: { hmacSignature: '{signature}' } });
    const signed = sample('adyen', { body });
    expect(await outcomeOf('adyen', signed)).toBe('accepted');
    const { additionalData } = JSON.parse(signed.text).notificationItems[0].NotificationRequestItem;
    const fields = { pspReference: 'psp:', originalReference: 'SampleAccount', merchantAccountCode: 'a' };
    const cut = withItem({ ...fields, merchantReference: 'b', additionalData });
    expect(await outcomeOf('adyen', withBody({ ...sent, text }, cut))).toBe('parked');
  });

  it.each(['dropbox', 'airtable', 'mollie-classic'])('the same body of %s is news every time', async (name) => {
    const sent = sample(name);
    const outcomes = [];
    for (let time = 0; time < 3; time++) outcomes.push(await outcomeOf(name, sent));
    expect(outcomes).toEqual(['accepted', 'accepted', 'accepted']);
  });

  it('a body that counts its attempts is the same event by its id', async () => {
    for (const [name, count] of [
      ['notion', '"attempt_number":1'],
      ['intercom', '"delivery_attempts":1'],
      ['coinbase-commerce', '"attempt_number":1'],
      ['hubspot-v3', '"attemptNumber":0'],
    ] as const) {
      const first = sample(name);
      const retried = first.text.replace(count, count.replace(/\d$/, '2'));
      expect(retried).not.toBe(first.text);
      expect(await outcomeOf(name, first)).toBe('accepted');
      expect(await outcomeOf(name, sample(name, { body: retried })), name).toBe('duplicate');
    }
  });
});

/** Each time the one differs from the other only in what it adds. */
const TOLD_APART: [provider: string, of: string, one: object, more: object][] = [
  ['twilio', 'one call in progress', { CallSid: 'CA1', CallStatus: 'in-progress' }, { Digits: '1' }],
  ['twilio', 'one message', { MessageSid: 'SM1', SmsStatus: 'received' }, { SmsStatus: 'sent' }],
  ['twilio', 'one call', { CallSid: 'CA1' }, { RecordingSid: 'RE1' }],
  ['twilio', 'no message and no call', { ConversationSid: 'CH1' }, { EventType: 'onMessageAdded' }],
  ['postmark', 'two recipients', { RecordType: 'Delivery', MessageID: 'm', Recipient: 'a' }, { Recipient: 'b' }],
  ['postmark', 'two changes', { RecordType: 'SubscriptionChange', MessageID: 'm' }, { ChangedAt: '2026-01-01' }],
  ['calendly', 'two times', { event: 'e', payload: { uri: 'u' }, created_at: '1' }, { created_at: '2' }],
  [
    'zoom',
    'two people in one moment',
    { event: 'e', event_ts: 1, payload: { object: { uuid: 'u', who: 1 } } },
    { payload: { object: { uuid: 'u', who: 2 } } },
  ],
  ['zoom', 'no time', { event: 'e' }, { payload: {} }],
  ['woocommerce', 'one second', { id: 1, date_modified_gmt: '2026-01-01T00:00:00' }, { total: 1 }],
  ['woocommerce', 'no id', { action: 'a' }, { arg: 1 }],
  [
    'docusign',
    'two recipients',
    { event: 'recipient-sent', data: { envelopeId: 'e', recipientId: '1' }, generatedDateTime: '1' },
    { data: { envelopeId: 'e', recipientId: '2' } },
  ],
];

it.each(TOLD_APART)('two events of %s are told apart: %s', async (name, _of, one, more) => {
  const written = (body: object) =>
    providerOf(name).form ? new URLSearchParams({ ...body }).toString() : JSON.stringify(body);
  const [first, second] = [one, { ...one, ...more }].map((body) => sample(name, { id: '1', body: written(body) }));
  if (!first || !second) throw new Error(name);
  const outcomes = [];
  for (const sent of [first, second, first, second]) outcomes.push(await outcomeOf(name, sent));
  expect(outcomes).toEqual(['accepted', 'accepted', 'duplicate', 'duplicate']);
});

it('a message that comes in to Postmark has a type, though it names none', async () => {
  expect((await send('postmark', sample('postmark', { body: '{"MessageID":"m","From":"a@b.c"}' }))).status).toBe(200);
  expect((await claimed('postmark')).map((row) => row.type)).toEqual(['inbound']);
});

it.each([
  ['calcom', { triggerEvent: 'MEETING_ENDED', title: 'A meeting' }],
  ['slack', { type: 'app_rate_limited', team_id: 'T1', api_app_id: 'A1', minute_rate_limited: 1_770_000_000 }],
  [
    'intercom',
    { type: 'notification_event', id: null, topic: 'ping', created_at: 1_770_000_000, delivery_attempts: 1 },
  ],
  ['intercom', { type: 'notification_event', id: null, topic: 'ping' }],
])('what %s sends without an id is claimed all the same: %j', async (name, body) => {
  const text = JSON.stringify(body);
  expect(await outcomeOf(name, sample(name, { body: text }))).toBe('accepted');
  const retried = text.replace('"delivery_attempts":1', '"delivery_attempts":2');
  expect(await outcomeOf(name, sample(name, { body: retried }))).toBe('duplicate');
});

describe('the address that a provider was told', () => {
  it.each(['square', 'twilio', 'hubspot-v3'])(
    'is what %s signs, and not the one that the request came to',
    async (name) => {
      expect((await send(name, sample(name))).status).toBe(200);
      const local = sample(name, { url: `${running.workers.url}webhooks/${name}` });
      expect((await send(name, local)).status).toBe(401);
    },
  );

  it('takes the lists of Twilio’s Event Streams, and knows an event that comes again in another list', async () => {
    const event = (id: string) => ({
      specversion: '1.0',
      type: 'com.twilio.messaging.message.delivered',
      source: '/v1/Accounts/AC1/Messages/SM1',
      id,
      time: '2026-01-31T12:00:00.000Z',
      data: {},
    });
    const list = (...ids: string[]) => {
      const body = JSON.stringify(ids.map(event));
      const hash = createHash('sha256').update(body).digest('hex');
      const url = `https://hooks.example.com/webhooks/twilio?bodySHA256=${hash}`;
      return withHeader(sample('twilio', { body, url }), 'content-type', () => 'application/json');
    };
    for (const sent of [list('EZ1', 'EZ2'), list('EZ2', 'EZ3'), list('EZ1', 'EZ2')]) {
      expect((await send('twilio', sent)).status).toBe(200);
    }
    expect((await claimed('twilio')).map((row) => [row.event_id, row.type, row.occurred_at?.toISOString()])).toEqual(
      ['EZ1', 'EZ2', 'EZ3'].map((id) => [
        `1.0:/v1/Accounts/AC1/Messages/SM1:${id}`,
        'com.twilio.messaging.message.delivered',
        '2026-01-31T12:00:00.000Z',
      ]),
    );
    expect(await sql("select event_id from webhooks.events where status = 'parked'")).toEqual([]);
  });

  it('takes Twilio’s JSON, whose hash stands in the query', async () => {
    const body = JSON.stringify({ MessageSid: 'SM1', MessageStatus: 'sent' });
    const hash = createHash('sha256').update(body).digest('hex');
    const url = `https://hooks.example.com/webhooks/twilio?bodySHA256=${hash}`;
    const json = (sent: Sent) => withHeader(sent, 'content-type', () => 'application/json');
    const sent = json(sample('twilio', { body, url }));
    expect((await send('twilio', withBody(sent, body.replace('SM1', 'SM2')))).status).toBe(401);
    expect((await send('twilio', sent)).status).toBe(200);
    expect((await claimed('twilio')).map((row) => [row.event_id, row.type])).toEqual([['SM1:sent', 'message.sent']]);
  });
});

it.each([
  ['as it was told', '', true],
  ['with what Twilio adds behind it', '&{hash}', true],
  ['with more than was signed', '&{hash}&more=1', false],
])('a query that the source names is signed, %s', async (_what, added, right) => {
  const source = 'twilio-queried';
  const body = added === '' ? 'MessageSid=SM1' : '{"MessageSid":"SM1"}';
  const told = sources[source]?.url ?? '';
  const hash = `bodySHA256=${createHash('sha256').update(body).digest('hex')}`;
  const signed = sample('twilio', { source, body, url: told + (added && `&${hash}`) });
  const type = added === '' ? 'application/x-www-form-urlencoded' : 'application/json';
  const sent = { ...withHeader(signed, 'content-type', () => type), url: told + added.replace('{hash}', hash) };
  expect((await send(source, sent)).status).toBe(right ? 200 : 401);
});

it('a form is kept as JSON, its repeated fields as lists', async () => {
  const body = 'MessageSid=SM1&MessageStatus=sent&Media=b&Media=a&Body=caf%C3%A9+%26';
  await send('twilio', sample('twilio', { body }));
  const [row] = await claimed('twilio');
  expect(JSON.parse(row?.body ?? '')).toEqual({
    MessageSid: 'SM1',
    MessageStatus: 'sent',
    Media: ['b', 'a'],
    Body: 'café &',
  });
});

it('a form of very many fields is refused, and read, in a moment', async () => {
  const body = Array.from({ length: 20_000 }, (_, n) => `f${n}=1`).join('&');
  const before = process.cpuUsage();
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'x-twilio-signature': 'AAAA' };
  const delivery = { method: 'POST', url: URL_TOLD, headers: new Headers(headers), body: Buffer.from(body) };
  expect(await verify(providerOf('twilio'), delivery, ['secret'], new Date())).toMatchObject({ outcome: 'refused' });
  expect(Object.keys(formAsJson(new URLSearchParams(body)))).toHaveLength(20_000);
  expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
});
