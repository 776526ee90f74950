// What a delivery of many events is taken apart into: an event that breaks a rule changes nothing about its neighbours.
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NewEvent } from '../../src/db/claim.ts';
import { defineProvider } from '../../src/kit/index.ts';
import type { Provider, ProviderData } from '../../src/providers/types.ts';
import { identify } from '../../src/receiver/identify.ts';
import { DeliveryValues } from '../../src/verify/delivery.ts';
import { itemsOf } from '../../src/verify/items.ts';
import { ids, RUNS, times } from './generators.ts';

const facts = {
  name: 'sender',
  docs: 'none: it exists in this test only',
  scheme: { signature: 'header:x-signature', encoding: 'hex', key: 'utf8', signed: '{body}' },
  id: { at: '{json:id}', signed: true },
  type: ['{json:type}', '{header:x-type}'],
  occurredAt: [
    { at: 'json:at', unit: 'iso' },
    { at: 'json:at', unit: 's' },
  ],
} as const satisfies ProviderData;
const list = { each: ['*'] } as const;
const providers = {
  'that signs its ids': defineProvider({ ...facts, batch: list }),
  'that does not': defineProvider({
    ...facts,
    batch: list,
    id: { at: ['{json:id}', '{json:type}:{json:at}'], signed: false },
  }),
  'that repeats the bodies of a type': defineProvider({
    ...facts,
    batch: list,
    id: {
      at: '{json:id}',
      signed: false,
      replayKey: '{json:key}:{sha256}',
      bodiesRepeat: [[{ at: 'json:type', is: 'evt_1' }]],
    },
  }),
};

const read = async (provider: Provider, json: unknown, more: object = {}) => {
  const delivery = {
    method: 'POST',
    url: 'https://example.com/',
    headers: new Headers({ 'x-type': 'from the header' }),
    body: new TextEncoder().encode(JSON.stringify(json)),
  };
  return identify({ provider, types: [], ...more }, new DeliveryValues(delivery), () => 'random');
};
const eventsOf = async (...given: Parameters<typeof read>): Promise<NewEvent[]> => {
  const result = await read(...given);
  if (result.outcome === 'unclaimable') throw new Error(result.reason);
  return result.events;
};

/** Each value may be absent, unusable, or that of another item. */
const items = fc.array(
  fc.record(
    {
      id: fc.oneof(ids, fc.constantFrom(7, '', ' ', 'a\nb', '\ud800', null, {}, 1e21, 'x'.repeat(513))),
      type: fc.oneof(ids, fc.constantFrom(7, '', '\0', {})),
      at: fc.oneof(times, fc.constantFrom(1_772_366_400, '1772366400.5', 'yesterday', -1, 1e300, '2026-03-01')),
      key: fc.constantFrom('one', 'other'),
    },
    { requiredKeys: [] },
  ),
  { maxLength: 12 },
);

describe.each(Object.entries(providers))('a batch of a provider %s', (_which, provider) => {
  it('has the same events as separate deliveries of its items', () =>
    fc.assert(
      fc.asyncProperty(
        items,
        fc.constantFrom({}, { dedupe: 'content' }, { bodiesRepeat: true }),
        async (batch, source) => {
          const alone = await Promise.all(batch.map(async (item) => eventsOf(provider, [item], source)));
          const { batch: _, ...single } = provider;
          const asBodies = await Promise.all(batch.map(async (item) => eventsOf(single as Provider, item, source)));
          const together = await eventsOf(provider, batch, source);
          expect(together).toEqual(alone.flat());
          expect(together).toEqual(asBodies.flat());
          expect(together.map(({ body }) => body)).toEqual(batch.map((item) => JSON.stringify(item)));
        },
      ),
      RUNS,
    ));
});

it('with dedupe by content, the id of an event is the hash of its JSON, whatever id it contains', async () => {
  const provider = providers['that signs its ids'];
  const events = await eventsOf(
    provider,
    [
      { id: 'a', n: 1 },
      { id: 'a', n: 2 },
      { id: 'a', n: 1 },
    ],
    { dedupe: 'content' },
  );
  const [one, two] = ['{"id":"a","n":1}', '{"id":"a","n":2}'].map((body) =>
    createHash('sha256').update(body).digest('hex'),
  );
  expect(events.map(({ eventId }) => eventId)).toEqual([one, two, one]);
});

describe('lines of JSON', () => {
  const lined = defineProvider({ ...facts, batch: { each: ['*'], lines: true } });
  const readText = (provider: Provider, text: string) => {
    const delivery = { method: 'POST', url: 'https://example.com/', headers: new Headers(), body: Buffer.from(text) };
    return identify({ provider, types: [] }, new DeliveryValues(delivery), () => 'random');
  };
  const idsIn = (text: string) =>
    readText(lined, text).then((result) =>
      result.outcome === 'identified' ? result.events.map(({ eventId }) => eventId) : result.reason,
    );

  it('are a batch if the provider allows it, as are a list and a single object', async () => {
    expect(await idsIn('{"id":"a"}\n{"id":"b"}')).toEqual(['a', 'b']);
    expect(await idsIn('[{"id":"a"},{"id":"b"}]')).toEqual(['a', 'b']);
    expect(await idsIn('{"id":"a"}')).toEqual(['a']);
    expect(await idsIn('{"id":"a"}\n{')).toBe('not JSON');
    expect(await idsIn('7')).toBe('no list of events');
    expect(await readText(providers['that does not'], '{"id":"a"}\n{"id":"b"}')).toEqual({
      outcome: 'unclaimable',
      reason: 'not JSON',
    });
  });
});

describe('a batch of several lists', () => {
  const each = ['entry.*.messages.*', 'entry.*.changes.*'];
  const envelope = { list: 'contacts', elementIds: ['wa_id', 'old_id'], itemIds: ['from', 'to'] };
  const body = fc.record({
    object: ids,
    entry: fc.array(
      fc.record(
        {
          id: ids,
          messages: fc.array(fc.record({ from: ids, to: ids, n: fc.nat() }, { requiredKeys: ['n'] }), { maxLength: 4 }),
          changes: fc.array(fc.record({ to: ids, n: fc.nat() }), { maxLength: 3 }),
          contacts: fc.array(fc.record({ wa_id: ids, old_id: ids }, { requiredKeys: [] }), {
            minLength: 1,
            maxLength: 4,
          }),
          tags: fc.array(ids),
        },
        { requiredKeys: ['contacts', 'tags'] },
      ),
      { maxLength: 3 },
    ),
  });
  type Body = typeof body extends fc.Arbitrary<infer Value> ? Value : never;
  const inOrder = ({ entry }: Body) => [
    ...entry.flatMap(({ messages = [] }) => messages),
    ...entry.flatMap(({ changes = [] }) => changes),
  ];

  it('has every item once, in the order of the paths', () =>
    fc.assert(
      fc.property(body, (json) => {
        expect([...(itemsOf({ each }, json) ?? [])]).toEqual(inOrder(json));
      }),
      RUNS,
    ));

  it('with an envelope, each item keeps everything except other items and their contacts', () =>
    fc.assert(
      fc.property(body, (json) => {
        const copies = [...(itemsOf({ each, envelope }, json) ?? [])] as Body[];
        expect(copies.flatMap(inOrder)).toEqual(inOrder(json));
        for (const copy of copies) {
          const [item = {}] = inOrder(copy) as { from?: string; to?: string }[];
          const [around, ...others] = copy.entry;
          const original = json.entry.find(({ messages = [], changes = [] }) =>
            [...messages, ...changes].includes(item as never),
          );
          const own = [item.from, item.to].filter((id) => id !== undefined);
          expect(others).toEqual([]);
          expect([copy.object, around?.id, around?.tags]).toEqual([json.object, original?.id, original?.tags]);
          const contacts = original?.contacts ?? [];
          const ofItem = contacts.filter(({ wa_id, old_id }) => own.some((id) => id === wa_id || id === old_id));
          const expected = contacts.length === 1 ? contacts : ofItem;
          expect(around?.contacts).toHaveLength(expected.length);
          expect(around?.contacts).toEqual(expect.arrayContaining(expected));
        }
      }),
      RUNS,
    ));

  it('has one item if the body should be a list but is an object, and is not a batch if the first list is missing', () => {
    expect(itemsOf({ each: ['*'] }, { id: 1 })).toEqual([{ id: 1 }]);
    expect([...(itemsOf({ each: ['*'] }, [1, 1, null, null]) ?? [])]).toEqual([1, 1, null, null]);
    for (const json of [null, 7, 'text']) expect(itemsOf({ each: ['*'] }, json)).toBeUndefined();
    for (const json of [{}, { entry: {} }, [], null]) expect(itemsOf({ each }, json)).toBeUndefined();
    for (const entry of [[], [{ messages: 'ab', changes: 7 }]])
      expect([...(itemsOf({ each }, { entry }) ?? [7])]).toEqual([]);
    expect([...(itemsOf({ each: ['a.b.*.c'] }, { a: { b: [{}, { c: 1 }] } }) ?? [])]).toEqual([1]);
  });

  it('leaves out the lists of other paths, but nothing with the same name elsewhere', () => {
    const json = { a: [{ b: [{ n: 1 }], c: 'kept' }], x: [{ c: [{ n: 2 }] }] };
    const batch = { each: ['a.*.b.*', 'x.*.c.*'], envelope };
    expect([...(itemsOf(batch, json) ?? [])]).toEqual([{ a: json.a }, { x: json.x }]);
  });

  it('has an element only once if two paths lead to it', () => {
    const json = { a: [{ b: [{ n: 1 }] }, { b: [{ n: 2 }] }, { n: 3 }] };
    expect([...(itemsOf({ each: ['a.*.b.*', 'a.*'] }, json) ?? [])]).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  });
});

describe('the size of a batch', () => {
  const provider = providers['that signs its ids'];
  const outcome = async (json: unknown) => {
    const result = await read(provider, json);
    return result.outcome === 'unclaimable' ? result.reason : result.events.length;
  };

  it('is at most 5,000 events', async () => {
    const of = (count: number) => Array.from({ length: count }, () => ({}));
    expect([await outcome(of(5000)), await outcome(of(5001))]).toEqual([5000, 'too many events']);
  });

  it('is at most 6 MiB as Postgres receives them: as JSON inside JSON, which escapes a quote and a backslash twice', async () => {
    const sizes = ['x', '"', '\\', '\u0080', 'é', '\u07ff', '\u0800', '€', '\uffff', '\u{10000}', '\u{10ffff}'];
    const bytesOf = (char: string) => ('"\\'.includes(char) ? 8 : Buffer.byteLength(char));
    // Of each another number, so that two wrong sizes don't make up for each other.
    const mixed = sizes.map((char, n) => char.repeat(100 + n ** 2)).join('');
    const bytes = sizes.reduce((sum, char, n) => sum + (100 + n ** 2) * bytesOf(char), 0);
    // The two events are an empty text and this one, whose quotes take four bytes each.
    const text = (length: number) => mixed + 'x'.repeat(length - bytes - 4 * 4);
    const limit = 6 * 1024 * 1024;
    expect([await outcome(['', text(limit)]), await outcome(['', text(limit + 1)])]).toEqual([2, 'events too large']);
  });
});
