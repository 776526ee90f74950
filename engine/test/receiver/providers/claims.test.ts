import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Source } from '../../../src/kit/index.ts';
import { unpack } from '../../../src/queue/forwarded.ts';
import { hasUnsignedIds } from '../../../src/receiver/identify.ts';
import { formAsJson } from '../../../src/shared/json.ts';
import { names, providerOf, type Sent, URL_TOLD, verdictOn, withHeaders } from '../../verify/deliveries.ts';
import { startReceiver } from '../in-node.ts';
import { useProviders } from './running.ts';
import { sources } from './sources.ts';

const { env, outcomesOf, sample, start } = useProviders();

let receiver: ReturnType<typeof start>;
beforeEach(() => {
  receiver = start();
});
const send = (source: string, sent: Sent) => receiver.deliver(source, sent);

it.each(names)('a sample of %s is claimed once, with its type, its time and its body', async (name) => {
  const provider = providerOf(name);
  // Some providers sign whole seconds.
  const now = new Date(Math.floor(Date.now() / 1000) * 1000);
  const sent = sample(name, { now });
  const answer = await send(name, sent);
  expect(answer.ok).toBe(true);
  expect(answer.headers.get('set-cookie')).toBeNull();

  const events = await receiver.events();
  expect(events.length).toBe(name === 'sendgrid' ? 2 : 1);
  for (const event of events) {
    expect(event.type === null).toBe(provider.type.length === 0);
    expect(event.occurredAt).toEqual(provider.occurredAt === undefined || isUndated(name) ? null : now);
    expect(typeof JSON.parse(event.body)).toBe('object');
    const { scheme } = provider;
    const isInToken = scheme.check !== undefined && scheme.kind === 'jose' && scheme.isEvent;
    if (!provider.batch && !provider.form && !isInToken) expect(event.body).toBe(sent.text);
  }
  const again = provider.id.at === '{random}' ? 'accepted' : 'duplicate';
  expect(await outcomesOf(name, [sent, sent])).toEqual(['accepted', again]);
});

/** Samples hold no time that isn't already in the signature. */
function isUndated(name: string): boolean {
  return ['shopify', 'twilio'].includes(name);
}

describe('the address that a provider was told', () => {
  it.each(['square', 'twilio', 'hubspot-v3'])(
    'is what %s signs, and not the one that the request came to',
    async (name) => {
      expect((await send(name, sample(name))).status).toBe(200);
      const local = sample(name, { url: `https://example.com/webhooks/${name}` });
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
      return withHeaders(sample('twilio', { body, url }), { 'content-type': 'application/json' });
    };
    const sent = [list('EZ1', 'EZ2'), list('EZ2', 'EZ3'), list('EZ1', 'EZ2')];
    expect(await outcomesOf('twilio', sent)).toEqual(['accepted', 'accepted', 'duplicate']);
    await send('twilio', list('EZ1', 'EZ2'));
    expect((await receiver.events()).map(({ eventId, type, occurredAt }) => [eventId, type, occurredAt])).toEqual(
      ['EZ1', 'EZ2'].map((id) => [
        `1.0:/v1/Accounts/AC1/Messages/SM1:${id}`,
        'com.twilio.messaging.message.delivered',
        new Date('2026-01-31T12:00:00.000Z'),
      ]),
    );
  });
});

it.each([
  ['as it was told', '', true],
  ['as it was told, although a proxy has written another that begins alike', '2', true],
  ['with what Twilio adds behind it', '&{hash}', true],
  ['with more than was signed', '&{hash}&more=1', false],
])('a query that the source names is signed, %s', async (_what, sentBehind, right) => {
  const source = 'twilio-queried';
  const isForm = !sentBehind.includes('{hash}');
  const body = isForm ? 'MessageSid=SM1' : '{"MessageSid":"SM1"}';
  const told = sources[source]?.url ?? '';
  const hash = `bodySHA256=${createHash('sha256').update(body).digest('hex')}`;
  const signed = sample('twilio', { source, body, url: told + (isForm ? '' : `&${hash}`) });
  const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json';
  const sent = { ...withHeaders(signed, { 'content-type': type }), url: told + sentBehind.replace('{hash}', hash) };
  expect((await send(source, sent)).status).toBe(right ? 200 : 401);
});

it('the claim is told whose ids are unsigned, unless a retry may differ or an id is made of the content', async () => {
  // Twilio's lists of events may be others at a retry: twilio.com/docs/events/event-delivery-and-duplication.
  const unsigned = [
    'auth0',
    'bitbucket',
    'contentful',
    'github',
    'jira',
    'postmark',
    'razorpay',
    'sentry',
    'shopify',
    'telegram',
    'woocommerce',
  ];
  const withoutReplayKeys = [
    'airtable',
    'awardee',
    'dropbox',
    'gitlab',
    'microsoft-graph',
    'mollie-classic',
    'supabase',
  ];
  const told: string[] = [];
  for (const name of names) {
    const { send, forwarded } = startReceiver({ sources: { [name]: sources[name] as Source }, env });
    const { headers, text, url } = sample(name);
    await send(name + new URL(url).search, { headers, body: text });
    if ((await unpack(forwarded[0]))?.unsignedIds) told.push(name);
  }
  expect(told.toSorted()).toEqual([...unsigned, ...withoutReplayKeys].toSorted());
  const byContent = { provider: providerOf('github'), types: [], dedupe: 'content' } as const;
  expect(hasUnsignedIds(byContent)).toBe(false);
});

it('the events of a batch are claimed without the headers of their delivery', async () => {
  await send('sendgrid', withHeaders(sample('sendgrid'), { 'user-agent': 'x'.repeat(14_000) }));
  const { events, headers } = (await unpack(receiver.forwarded[0])) ?? {};
  expect([events?.length, headers]).toEqual([2, {}]);
});

it('a form is kept as JSON, its repeated fields as lists', async () => {
  const body = 'MessageSid=SM1&MessageStatus=sent&Media=b&Media=a&Body=caf%C3%A9+%26';
  await send('twilio', sample('twilio', { body }));
  const [event] = await receiver.events();
  expect(JSON.parse(event?.body ?? '')).toEqual({
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
  expect(await verdictOn(providerOf('twilio'), delivery, ['secret'], new Date())).toMatchObject({ outcome: 'refused' });
  expect(Object.keys(formAsJson(new URLSearchParams(body)))).toHaveLength(20_000);
  expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
});
