import { beforeEach, describe, expect, it } from 'vitest';
import { accepted, documented } from './batch-bodies.ts';
import { useProviders } from './running.ts';

const running = useProviders();
const { sample, send, sql } = running;

beforeEach(() => sql('delete from webhooks.events'));

const claimed = (source: string) =>
  sql<{ event_id: string; type: string; body: string }>(
    `select event_id, type, body from webhooks.events join webhooks.bodies using (source, event_id)
     where source = $1 order by event_id`,
    [source],
  );
const deliver = (source: string, body: unknown) => send(source, sample(source, { body: JSON.stringify(body) }));
const counts = (accepted: number, duplicate: number) => ({
  status: accepted > 0 || duplicate === 0 ? 'accepted' : 'duplicate',
  accepted,
  duplicate,
});

const ACCEPTED = { status: 'accepted' };
const NOW = new Date();
const sendgrid = (...ids: string[]) =>
  ids.map((sg_event_id) => ({ sg_event_id, event: 'delivered', timestamp: 1_770_000_000 }));

describe('a batch', () => {
  it('is one claim for each item, each with its own JSON, in one statement', async () => {
    let statements = 0;
    running.stack.neon.fault = () => {
      statements++;
      return undefined;
    };
    const items = sendgrid('a', 'b', 'c');
    const answer = await deliver('sendgrid', items);
    running.stack.neon.fault = undefined;
    expect(await answer.json()).toEqual(counts(3, 0));
    expect(statements).toBe(1);
    const rows = await claimed('sendgrid');
    expect(rows.map((row) => [row.event_id, row.type, JSON.parse(row.body)])).toEqual(
      items.map((item) => [item.sg_event_id, 'delivered', item]),
    );
  });

  it('delivered again with more is claimed for what is new', async () => {
    await deliver('sendgrid', sendgrid('a', 'b'));
    expect(await (await deliver('sendgrid', sendgrid('b', 'c', 'a'))).json()).toEqual(counts(1, 2));
    expect(await (await deliver('sendgrid', sendgrid('b', 'c', 'a'))).json()).toEqual(counts(0, 3));
    expect((await claimed('sendgrid')).map((row) => row.event_id)).toEqual(['a', 'b', 'c']);
  });

  it.each([
    ['sendgrid', []],
    ['hubspot-v3', []],
    ['asana', { events: [] }],
    ['meta', { object: 'page', entry: [] }],
  ] as const)('of %s that is empty is held without a word to Postgres', async (source, body) => {
    running.stack.neon.fault = () => ({ kind: 'refused' });
    const answer = await deliver(source, body);
    running.stack.neon.fault = undefined;
    expect([answer.status, await answer.json()]).toEqual([200, counts(0, 0)]);
  });

  it('without the list that it should hold is answered 400', async () => {
    for (const source of ['asana', 'xero', 'meta'])
      expect((await deliver(source, { other: [] })).status, source).toBe(400);
  });
});

it('Auth0’s log entries may come as a single object, and as lines', async () => {
  const entry = (log_id: string) => JSON.stringify({ log_id, data: { type: 's', date: NOW.toISOString() } });
  const deliverText = (body: string) => send('auth0', sample('auth0', { body }));
  expect(await (await deliverText(entry('a'))).json()).toEqual(ACCEPTED);
  expect(await (await deliverText(`${entry('a')}\n${entry('b')}\r\n${entry('c')}\n`)).json()).toEqual(counts(2, 1));
  expect((await deliverText(`${entry('a')}\n{`)).status).toBe(400);
  expect((await claimed('auth0')).map((row) => [row.event_id, row.type])).toEqual([
    ['a', 's'],
    ['b', 's'],
    ['c', 's'],
  ]);
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
    expect(await answer.json()).toEqual(counts(4, 0));
    const rows = await claimed('meta');
    expect(rows.map((row) => row.event_id)).toEqual(['wamid.1', 'wamid.2', 'wamid.3:read', 'wamid.3:sent']);
    expect(new Set(rows.map((row) => row.type))).toEqual(new Set(['whatsapp_business_account.messages']));
    expect(JSON.parse(rows[1]?.body ?? '')).toEqual({
      object: 'whatsapp_business_account',
      entry: [{ id: 'account', changes: [{ field: 'messages', value: { ...value, messages: [message('wamid.2')] } }] }],
    });
  });

  it('keeps with each message and each status only the contact that it belongs to', async () => {
    const contact = (wa_id: string) => ({ profile: { name: `Person ${wa_id}` }, wa_id });
    const entry = (contacts: unknown[], items: object) => [
      { id: 'account', changes: [{ field: 'messages', value: { ...value, contacts, ...items } }] },
    ];
    const messages = ['1', '2', '9'].map((from) => ({ ...message(`wamid.${from}`), from }));
    const statuses = [{ ...status('wamid.3', 'read'), recipient_user_id: 'US.3' }];
    const contacts = [contact('1'), contact('2'), { profile: { name: 'Person 3' }, user_id: 'US.3' }];
    const object = 'whatsapp_business_account';
    await deliver('meta', { object, entry: entry(contacts, { messages, statuses }) });
    await deliver('meta', { object, entry: entry([contact('7')], { messages: [message('wamid.alone')] }) });
    const kept = (await claimed('meta')).map((row) => [
      row.event_id,
      JSON.parse(row.body).entry[0].changes[0].value.contacts,
    ]);
    expect(kept).toEqual([
      ['wamid.1', [contacts[0]]],
      ['wamid.2', [contacts[1]]],
      ['wamid.3:read', [contacts[2]]],
      ['wamid.9', []],
      ['wamid.alone', [contact('7')]],
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
    expect(await (await deliver('meta', { object: 'page', entry })).json()).toEqual(counts(6, 0));
    const bodies = (await claimed('meta')).map((row) => JSON.parse(row.body).entry);
    expect(bodies.every((alone) => alone.length === 1)).toBe(true);
    expect(
      bodies
        .flat()
        .map(({ time }) => time)
        .sort(),
    ).toEqual([1, 1, 2, 2, 3, 4]);
    expect(bodies).toContainEqual([{ id: 'page', time: 2, messaging: [{ sender: { id: '2' } }] }]);
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
    const rows = await claimed('adyen');
    expect(rows.map((row) => row.event_id)).toEqual(['AUTHORISATION:one:true', 'AUTHORISATION:two:true']);
    expect(JSON.parse(rows[0]?.body ?? '')).toMatchObject({ pspReference: 'one', amount: { value: 4200 } });
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
    expect(await claimed('adyen')).toEqual([]);
  });
});

describe('the size of a batch', () => {
  it.each(Object.entries({ ...documented, ...accepted }))(
    'of %s is accepted, and every event is in Postgres',
    async (_what, { provider, events, make }) => {
      const answer = await send(provider, sample(provider, { body: make() }));
      expect(await answer.json()).toEqual(counts(events, 0));
      const [row] = await sql<{ events: number }>('select count(*)::int as events from webhooks.bodies');
      expect(row?.events).toBe(events);
    },
  );
});
