// What is written must be read as it was: whichever fields are absent, and whatever is in the others.
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { filterOf } from '../../cli/ops/action.ts';
import { filterFields } from '../../src/db/filter.ts';
import { keyText } from '../../src/db/keys.ts';
import { ACTIONS } from '../../src/db/schema.ts';
import { cursorText, readAction, readFilter, readList } from '../../src/ops/input.ts';
import { pack, unpack } from '../../src/queue/forwarded.ts';
import { isEffectTicket, isTicket, sendTickets, type Ticket } from '../../src/queue/tickets.ts';
import { seal, unseal } from '../../src/receiver/secrets.ts';
import { concat, fromBase64, fromBase64Url, fromHex, toBase64Url, toHex } from '../../src/shared/bytes.ts';
import { formAsJson, parseJson, parseLines } from '../../src/shared/json.ts';
import { claimRequests, effectKeys, filters, ids, positions, RUNS } from './generators.ts';

const holds = <Values extends [unknown, ...unknown[]]>(
  arbitraries: { [Index in keyof Values]: fc.Arbitrary<Values[Index]> },
  predicate: (...values: Values) => unknown,
) =>
  fc.assert(
    fc.asyncProperty(...arbitraries, async (...values: Values) => {
      await predicate(...values);
    }),
    RUNS,
  );
const valid = (value: unknown) => ({ outcome: 'valid', value });
/** Through a query string, as a link of the console sends it. */
const throughUrl = (fields: Record<string, string>) =>
  Object.fromEntries(new URLSearchParams(String(new URLSearchParams(fields))));

it('a filter of the console, and any page of its list', () =>
  holds([filters, fc.option(positions), fc.option(fc.constantFrom(1, 2, 500))], (filter, after, limit) => {
    const fields = {
      ...filterFields(filter),
      ...(after ? { cursor: cursorText(after) ?? '' } : {}),
      ...(limit ? { limit: String(limit) } : {}),
    };
    expect(readList(throughUrl(fields))).toEqual(valid({ filter, after: after ?? undefined, limit: limit ?? 50 }));
  }));

it('an action of the API on many events', () =>
  holds(
    [
      filters,
      fc.constantFrom(...ACTIONS),
      fc.option(fc.constantFrom('0-', '7-0123456789abcdef'), { nil: undefined }),
      fc.boolean(),
    ],
    (filter, action, expected, effects) => {
      const body = { filter: filterFields(filter), expected, reason: 'a reason', effects };
      const value = { action, filter, expected, reason: 'a reason', sendEffectsAgain: effects };
      expect(readAction(action, JSON.parse(JSON.stringify(body)))).toEqual(valid(value));
    },
  ));

it('the options of npm run ops, as the API reads them', () =>
  holds([filters], ({ action_at: _, ...filter }) => {
    const { q: id, effect_status, since, until, ...same } = filter;
    const options = {
      ...same,
      id,
      'effect-status': effect_status,
      since: since?.toISOString(),
      until: until?.toISOString(),
    };
    expect(readFilter(throughUrl(filterOf(options, new Date())))).toEqual(valid(filter));
  }));

it('a ticket of an event and of an effect', () =>
  holds([fc.array(effectKeys, { maxLength: 250 })], async (keys) => {
    for (const isEffect of [false, true]) {
      const sent: (Ticket & { version: number })[] = [];
      const sendBatch = async (messages: { body: Ticket & { version: number } }[]) => {
        expect(messages.length).toBeLessThanOrEqual(100);
        sent.push(...messages.map(({ body }) => structuredClone(body)));
      };
      const tickets = keys.map(({ name, ...key }) => (isEffect ? { ...key, name } : key));
      expect(await sendTickets({ sendBatch } as unknown as Queue, tickets)).toBe(true);
      expect(sent.map(({ version, ...key }) => key)).toEqual(tickets);
      expect(sent.every(isTicket)).toBe(true);
      expect(sent.filter(isEffectTicket)).toHaveLength(isEffect ? keys.length : 0);
    }
  }));

it('a forwarded delivery', () =>
  holds([claimRequests], async (request) => {
    expect(await unpack(await pack(request))).toEqual({ ...request, unreadable: [] });
  }));

it('a forwarded delivery, which names its bad events and keeps the others', () => {
  const bad = fc.constantFrom(
    { body: undefined },
    { body: 7 },
    { body: 'a\0b' },
    { type: undefined },
    { type: '\ud800' },
    { fingerprint: undefined },
    { occurredAt: undefined },
    { occurredAt: 'yesterday' },
    { occurredAt: '-000001-01-01T00:00:00.000Z' },
  );
  return holds([claimRequests, fc.array(fc.option(bad), { minLength: 5, maxLength: 5 })], async (request, changes) => {
    const events = request.events.map((event, n) => ({ ...event, ...changes[n] }));
    const message = gzipSync(JSON.stringify({ version: 1, ...request, events }));
    const isGood = (_event: unknown, n: number) => changes[n] === null;
    expect(await unpack(new Uint8Array(message))).toEqual({
      ...request,
      events: request.events.filter(isGood),
      unreadable: request.events.filter((_event, n) => changes[n] !== null).map(({ eventId }) => eventId),
    });
  });
});

it('the unique text of an event’s or an effect’s key', () =>
  holds([effectKeys, effectKeys], (one, other) => {
    expect(keyText(one) === keyText(other)).toBe(JSON.stringify(one) === JSON.stringify(other));
    expect(keyText({ source: one.source, eventId: one.eventId })).not.toBe(keyText(one));
  }));

it('bytes as hex, base64 and base64url', () =>
  holds([fc.uint8Array()], (bytes) => {
    const buffer = Buffer.from(bytes);
    expect(toHex(Uint8Array.from(bytes).buffer)).toBe(buffer.toString('hex'));
    expect(fromHex(buffer.toString('hex'))).toEqual(bytes);
    expect(fromHex(buffer.toString('hex').toUpperCase())).toEqual(bytes);
    expect(fromBase64(buffer.toString('base64'))).toEqual(bytes);
    expect(toBase64Url(bytes)).toBe(buffer.toString('base64url'));
    expect(fromBase64Url(toBase64Url(bytes))).toEqual(bytes);
    expect(concat([bytes, 'é😀', bytes])).toEqual(new Uint8Array(Buffer.concat([bytes, Buffer.from('é😀'), bytes])));
  }));

it('a secret that a provider handed over, whose encrypted text differs each time', async () => {
  const sealed = await Promise.all(['', 'é😀', 'é😀'].map((secret) => seal(secret, 'a passphrase')));
  expect(new Set(sealed).size).toBe(3);
  expect(await Promise.all(sealed.map((text) => unseal(text, 'a passphrase')))).toEqual(['', 'é😀', 'é😀']);
  await expect(unseal(sealed[1] ?? '', 'another one')).rejects.toThrow();
});

it('the fields of a form, with repeated ones as lists', () =>
  holds([fc.array(fc.tuple(fc.constantFrom('a', 'b', '__proto__', 'length'), ids))], (fields) => {
    const json = formAsJson(new URLSearchParams(fields));
    const names = [...new Set(fields.map(([name]) => name))];
    expect(Object.keys(json)).toEqual(names);
    for (const name of names) {
      const values = fields.filter(([one]) => one === name).map(([, value]) => value);
      expect(Object.getOwnPropertyDescriptor(json, name)?.value).toEqual(values.length === 1 ? values[0] : values);
    }
  }));

it('JSON, and JSON Lines with any line endings', () =>
  holds([fc.array(fc.jsonValue(), { minLength: 1 }), fc.constantFrom('\n', '\r\n', '\n\n \n')], (values, lineEnd) => {
    // An integer that JavaScript would round is kept as its digits. JSON knows no -0.
    const exact = (_key: string, value: unknown) =>
      Number.isInteger(value) && !Number.isSafeInteger(value) && !/e/.test(String(value)) ? String(value) : value;
    const json = JSON.parse(JSON.stringify(values), exact);
    expect(parseJson(JSON.stringify(values, null, 1))).toEqual({ outcome: 'parsed', json });
    const lines = values.map((value) => JSON.stringify(value)).join(lineEnd);
    expect(parseLines(lines + lineEnd)).toEqual({ outcome: 'parsed', json });
  }));
