import { randomBytes } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { pack, unpack } from '../../src/queue/forwarded.ts';
import { isEffectTicket, isTicket, reasonUnreadable, sendTickets } from '../../src/queue/tickets.ts';
import { claimRequest, newEvent } from '../new-event.ts';

const ticket = { version: 1, source: 'stripe', eventId: 'evt_1' };

describe('a ticket', () => {
  it('is an event’s key in our version, and that of an effect has a name', () => {
    const named = { ...ticket, name: 'receipt' };
    expect([ticket, named].map(isTicket)).toEqual([true, true]);
    expect([ticket, named, { ...named, name: 7 }, { ...named, name: 'a\0' }].map(isEffectTicket)).toEqual([
      false,
      true,
      false,
      false,
    ]);
  });

  it.each([
    undefined,
    null,
    'stripe',
    {},
    { ...ticket, version: undefined },
    { ...ticket, version: 2 },
    { ...ticket, version: '1' },
    { ...ticket, source: undefined },
    { ...ticket, source: 'a\0' },
    { ...ticket, eventId: 7 },
    { ...ticket, eventId: '\ud800' },
  ])('%j is none', (message) => {
    expect([isTicket(message), isEffectTicket(message)]).toEqual([false, false]);
  });

  it.each([
    [{ version: 2 }, { reason: 'the message has version 2, but this Worker reads version 1' }],
    [{ version: 0 }, { reason: 'the message has version 0, but this Worker reads version 1' }],
    [{ version: 1 }, {}],
    [{ version: 1.5 }, {}],
    [{ version: '2' }, {}],
    [{}, {}],
    [null, {}],
  ])('a message %j that cannot be read: the log says if another version sent it', (message, reason) => {
    expect(reasonUnreadable(message)).toEqual(reason);
  });
});

describe('tickets that are sent', () => {
  const tickets = (count: number) => Array.from({ length: count }, (_, n) => ({ source: 'a', eventId: String(n) }));

  it.each([
    [0, []],
    [1, [1]],
    [100, [100]],
    [101, [100, 1]],
    [250, [100, 100, 50]],
  ])('%i tickets are calls of %j messages, all at the same time', async (count, sizes) => {
    const { promise: written, resolve: write } = Promise.withResolvers<void>();
    const sendBatch = vi.fn(() => written);
    const sending = sendTickets({ sendBatch } as unknown as Queue, tickets(count));
    expect((sendBatch.mock.calls as unknown as [unknown[]][]).map(([messages]) => messages.length)).toEqual(sizes);
    write();
    expect(await sending).toBe(true);
  });

  it('are not sent if the queue refuses one of the calls', async () => {
    const sendBatch = vi.fn().mockResolvedValueOnce(undefined).mockRejectedValueOnce(new Error('Too Many Requests'));
    expect(await sendTickets({ sendBatch } as unknown as Queue, tickets(101))).toBe(false);
  });
});

describe('a delivery that is forwarded', () => {
  const request = claimRequest(['a', 'b'], { receivedAt: new Date('2026-03-01T12:00:00Z') });
  const packed = (change: object, version: unknown = 1) =>
    new Uint8Array(gzipSync(JSON.stringify({ version, ...request, ...change })));

  it('fits into a message, or is not packed: 127,500 bytes, and 12 MiB when it is unpacked', async () => {
    const withBody = (body: string) => ({ ...request, events: [newEvent('a', { body })] });
    const isPacked = async (body: string) => (await pack(withBody(body))) !== undefined;
    const jsonOf = (body: string) => JSON.stringify({ version: 1, ...withBody(body) });
    const limit = 12 * 1024 * 1024 - jsonOf('').length;
    expect([await isPacked('x'.repeat(limit)), await isPacked('x'.repeat(limit + 1))]).toEqual([true, false]);
    expect(await unpack(await pack(withBody('x'.repeat(limit))))).toMatchObject({ unreadable: [] });
    // As much of a text that can hardly be compressed as fits.
    const noise = randomBytes(130_000).toString('base64');
    let [fits, isTooLong] = [0, noise.length];
    while (isTooLong - fits > 1) {
      const middle = (fits + isTooLong) >> 1;
      if (gzipSync(jsonOf(noise.slice(0, middle))).length <= 127_500) fits = middle;
      else isTooLong = middle;
    }
    expect([await isPacked(noise.slice(0, fits)), await isPacked(noise.slice(0, isTooLong))]).toEqual([true, false]);
  });

  it('is read as ArrayBuffer too, and whatever else comes is not a delivery', async () => {
    const message = packed({});
    expect(await unpack(message.buffer)).toEqual({ ...request, unreadable: [] });
    const text = JSON.stringify(request);
    const others = [undefined, text, Array.from(message), new Uint8Array(3), new TextEncoder().encode(text)];
    for (const other of others) {
      expect(await unpack(other)).toBeUndefined();
    }
    for (const json of ['null', '[]', '7', '{}', '{"events":7}', '{"events":["a"]}', '{"events":[{},null]}', '{']) {
      expect(await unpack(new Uint8Array(gzipSync(json))), json).toBeUndefined();
    }
  });

  it('with order keys has a version of its own, so that a consumer without them leaves it to a later one', async () => {
    const ordered = {
      ...request,
      events: request.events.map((event, n) => ({ ...event, orderKey: 'k', orderPlace: n })),
    };
    const message = (await pack({ ...ordered })) as Uint8Array;
    expect(JSON.parse(gunzipSync(message).toString())).toMatchObject({ version: 2 });
    expect(await unpack(message)).toEqual({ ...ordered, unreadable: [] });
    for (const wrong of [{ orderKey: 7 }, { orderKey: 'a\0' }, { orderPlace: '1' }]) {
      const [first, ...others] = ordered.events;
      const read = await unpack(packed({ ...ordered, events: [{ ...first, ...wrong }, ...others] }, 2));
      expect(read).toMatchObject({ events: others, unreadable: ['a'] });
    }
  });

  it('is not unpacked if it is too large for an isolate', async () => {
    const message = packed({ pad: 'x'.repeat(12 * 1024 * 1024) });
    expect(message.length).toBeLessThan(127_500);
    expect(await unpack(message)).toBeUndefined();
  });

  it.each([
    ['of another version', packed({}, 3), 'test'],
    ['without a source', packed({ source: 7 }), ''],
    ['with a source that Postgres cannot store', packed({ source: 'a\0' }), ''],
    ['without headers', packed({ headers: null }), 'test'],
    ['with a text in place of headers', packed({ headers: 'ab' }), 'test'],
    ['with a header that is not a text', packed({ headers: { a: 1 } }), 'test'],
    ['with a header whose name Postgres cannot store', packed({ headers: { 'a\0': '1' } }), 'test'],
    ['without its time', packed({ receivedAt: 7 }), 'test'],
  ])('%s names its events, and none of them is claimed', async (_what, message, source) => {
    expect(await unpack(message)).toMatchObject({ source, headers: {}, events: [], unreadable: ['a', 'b'] });
  });
});
