import { beforeEach, describe, expect, it } from 'vitest';
import type { Sent } from '../../verify/deliveries.ts';
import { useProviders } from './running.ts';

const { sample, start } = useProviders();

let receiver: ReturnType<typeof start>;
beforeEach(() => {
  receiver = start();
});
const send = (source: string, sent: Sent) => receiver.deliver(source, sent);
const deliver = (source: string, body: unknown) => send(source, sample(source, { body: JSON.stringify(body) }));
/** The events of all deliveries, with their JSON. */
const claimed = async () => (await receiver.events()).map((event) => ({ ...event, json: JSON.parse(event.body) }));
const ids = async () => (await claimed()).map(({ eventId }) => eventId);

const counts = (accepted: number) => ({ status: 'accepted', accepted, duplicate: 0 });

it.each([
  ['sendgrid', []],
  ['hubspot-v3', []],
  ['asana', { events: [] }],
  ['meta', { object: 'page', entry: [] }],
] as const)('a batch of %s that is empty is held without a claim', async (source, body) => {
  expect(await (await deliver(source, body)).json()).toEqual(counts(0));
  expect([receiver.forwarded, receiver.lines.map(({ step }) => step)]).toEqual([[], ['delivery']]);
});

it.each(['asana', 'xero', 'meta'])('a batch of %s without its list is answered 400', async (source) => {
  expect((await deliver(source, { other: [] })).status).toBe(400);
});

describe('Meta', () => {
  const value = { messaging_product: 'whatsapp', metadata: { phone_number_id: '7' } };
  const message = (id: string) => ({ id, timestamp: '1770000000', type: 'text' });
  const status = (id: string, state: string) => ({ id, status: state, timestamp: '1770000001' });

  it('has each message and each status claimed alone, in the envelope that it came in', async () => {
    const entry = {
      id: 'account',
      changes: [
        { field: 'messages', value: { ...value, messages: [message('wamid.1'), message('wamid.2')] } },
        { field: 'messages', value: { ...value, statuses: [status('wamid.3', 'sent'), status('wamid.3', 'read')] } },
      ],
    };
    const answer = await deliver('meta', { object: 'whatsapp_business_account', entry: [entry] });
    expect(await answer.json()).toEqual(counts(4));
    const events = await claimed();
    expect(await ids()).toEqual(['wamid.1', 'wamid.2', 'wamid.3:sent', 'wamid.3:read']);
    expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['whatsapp_business_account.messages']));
    expect(events[1]?.json).toEqual({
      object: 'whatsapp_business_account',
      entry: [{ id: 'account', changes: [{ field: 'messages', value: { ...value, messages: [message('wamid.2')] } }] }],
    });
  });

  it('keeps with each message and each status only the contact that it belongs to', async () => {
    const entry = (contacts: unknown[], items: object) => [
      { id: 'account', changes: [{ field: 'messages', value: { ...value, contacts, ...items } }] },
    ];
    // All properties that name a person in Meta's examples.
    const names = ['from', 'recipient_id', 'recipient_participant_id', 'participant_recipient_id'];
    const named = [...names, 'from_user_id', 'recipient_user_id', 'recipient_participant_user_id', 'other'];
    const contacts = named.map((name, n) => ({ [n < names.length ? 'wa_id' : 'user_id']: `the ${name}` }));
    const messages = named.map((name) => ({ ...message(name), [name]: `the ${name}` }));
    const statuses = [{ ...status('wamid.3', 'read'), recipient_user_id: 'the from_user_id' }];
    const object = 'whatsapp_business_account';
    await deliver('meta', { object, entry: entry(contacts, { messages, statuses }) });
    await deliver('meta', { object, entry: entry(contacts.slice(-1), { messages: [message('wamid.alone')] }) });
    const kept = (await claimed()).map(({ eventId, json }) => [eventId, json.entry[0].changes[0].value.contacts]);
    expect(kept).toEqual([
      ...named.map((name, n) => [name, name === 'other' ? [] : [contacts[n]]]),
      ['wamid.3:read', [contacts[4]]],
      ['wamid.alone', contacts.slice(-1)],
    ]);
  });

  it('loses nothing that it has no name for', async () => {
    const entry = [
      {
        id: 'page',
        time: 1,
        changes: [
          { field: 'feed', value: { post: 1 } },
          { field: 'likes', value: 3 },
        ],
      },
      { id: 'page', time: 2, messaging: [{ sender: { id: '1' } }, { sender: { id: '2' } }] },
      { id: 'page', time: 3, standby: [{ sender: { id: '3' } }] },
      { id: 'page', time: 4 },
    ];
    expect(await (await deliver('meta', { object: 'page', entry })).json()).toEqual(counts(6));
    const entries = (await claimed()).map(({ json }) => json.entry);
    expect(entries.every((alone) => alone.length === 1)).toBe(true);
    expect(entries.map(([{ time }]) => time).sort()).toEqual([1, 1, 2, 2, 3, 4]);
    expect(entries).toContainEqual([{ id: 'page', time: 2, messaging: [{ sender: { id: '2' } }] }]);
  });
});

describe('Adyen, who signs each item', () => {
  const signed = (pspReference: string) => JSON.parse(sample('adyen', { id: pspReference }).text).notificationItems[0];
  const send2 = (items: unknown[]) => {
    const sent = sample('adyen');
    const text = JSON.stringify({ live: 'false', notificationItems: items });
    return send('adyen', { ...sent, text });
  };

  it('has each claimed', async () => {
    expect(await (await send2([signed('one'), signed('two')])).text()).toBe('[accepted]');
    expect(await ids()).toEqual(['AUTHORISATION:one:true', 'AUTHORISATION:two:true']);
    expect((await claimed())[0]?.json).toMatchObject({ pspReference: 'one', amount: { value: 4200 } });
  });

  it('has all refused where one item is not signed, or signed for another', async () => {
    const [good, other] = [signed('one'), signed('two')];
    const { additionalData } = other.NotificationRequestItem;
    const wrong = [
      [good, { NotificationRequestItem: { ...good.NotificationRequestItem, pspReference: 'forged' } }],
      [good, { NotificationRequestItem: { ...good.NotificationRequestItem, additionalData } }],
      [good, { NotificationRequestItem: { pspReference: 'bare' } }],
      [good, { NotificationRequestItem: { ...good.NotificationRequestItem, originalReference: {} } }],
      [],
    ];
    for (const items of wrong) expect((await send2(items)).status).toBe(401);
    expect(receiver.forwarded).toEqual([]);
  });
});
