import { createHash, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Source } from '../../src/kit/index.ts';
import type { Provider, ProviderData, Signature } from '../../src/providers/types.ts';
import { identify, keptHeaders } from '../../src/receiver/identify.ts';
import { DeliveryValues } from '../../src/verify/delivery.ts';
import { providerOf } from '../verify/deliveries.ts';

/** What becomes of a JSON body, for a provider with this data. */
async function identified(
  data: Partial<ProviderData>,
  json: unknown,
  headers: Record<string, string> = {},
  more: Partial<Source> = {},
) {
  const provider = { ...providerOf('gethook'), ...data } as Provider;
  const body = new TextEncoder().encode(JSON.stringify(json));
  const delivery = { method: 'POST', url: 'https://example.com/', headers: new Headers(headers), body };
  const result = await identify({ provider, types: [], ...more }, new DeliveryValues(delivery), randomUUID);
  if (result.outcome === 'unclaimable') throw new Error(result.reason);
  const [event] = result.events;
  if (!event) throw new Error('no event');
  return event;
}

describe('the values in a template', () => {
  it.each([
    [true, 'true'],
    [false, 'false'],
    [0, '0'],
    [1.5, '1.5'],
    [1521472262.908181, '1521472262.908181'],
    ['1.50', '1.50'],
  ])('%j is filled in as JSON writes it', async (value, text) => {
    const { eventId } = await identified({ id: { at: '{json:a}:{json?:b}', signed: true } }, { a: value, b: value });
    expect(eventId).toBe(`${text}:${text}`);
  });

  it.each([[null], [{}], [[1]], [1e21]])('%j can’t be filled in, so the next template is used', async (value) => {
    const id = { at: ['{json:a}', '{json:b}'], signed: true };
    expect((await identified({ id }, { a: value, b: 'b' })).eventId).toBe('b');
  });

  it('what may be missing is empty then, and a replay key of nothing is none', async () => {
    const id = { at: '{json:a}:{json?:b}', signed: true, replayKey: '{json?:b}' };
    for (const b of [undefined, null]) {
      expect(await identified({ id }, { a: 'a', b })).toMatchObject({ eventId: 'a:', fingerprint: null });
    }
    expect((await identified({ id }, { a: 'a', b: 'b' })).fingerprint).not.toBeNull();
  });

  it('what every object has is not a value of the body', async () => {
    const id = { at: ['{json:constructor.name}', '{json:b}'], signed: true };
    expect((await identified({ id }, { b: 'b' })).eventId).toBe('b');
  });

  it('the next template is used too if an id is empty, blank or unusable', async () => {
    const id = { at: ['{header:x-id}', '{json:b}'], signed: false };
    for (const header of ['', ' ', 'x'.repeat(513)]) {
      expect((await identified({ id }, { b: 'b' }, { 'x-id': header })).eventId).toBe('b');
    }
  });

  it.each([
    ['x-id', 'an id'],
    ['x-other', 'b'],
    ['X-ID,x-other', 'b'],
  ])('a signed header is filled in only if the delivery signs it: %s', async (signed, expected) => {
    const { scheme } = providerOf('gethook');
    const custom = { custom: () => [], signedHeaders: () => signed.split(','), words: 'some headers' };
    const data = {
      scheme: { ...scheme, signed: custom } as Signature,
      id: { at: ['{signed-header:x-id}', '{json:b}'], signed: true },
    };
    expect((await identified(data, { b: 'b' }, { 'x-id': 'an id' })).eventId).toBe(expected);
    // If the provider has several schemes, nobody knows which one signed.
    const several = { ...data, otherSchemes: [{ token: 'header:x-token' } as const] };
    expect((await identified(several, { b: 'b' }, { 'x-id': 'an id' })).eventId).toBe('b');
  });
});

it.each(['.hidden', 'dots..', '...'])('an id is used as it is although it begins or ends with dots: %s', async (id) => {
  expect((await identified({ id: { at: '{json:id}', signed: true } }, { id })).eventId).toBe(id);
});

describe('the time of an event', () => {
  const NOON = '2026-01-31T12:00:00.000Z';
  const anyOf = [
    { at: 'json:sent', unit: 'ms' },
    { at: ['json:at', 'json:else'], unit: 's' },
    { at: 'json:at', unit: 'iso' },
  ] as const;

  it.each([
    [{ at: 1769860800 }, NOON],
    [{ at: '1769860800' }, NOON],
    [{ at: 1769860800.25 }, '2026-01-31T12:00:00.250Z'],
    [{ sent: 1769860800000, at: 1 }, NOON],
    [{ sent: 'never', else: 1769860800 }, NOON],
    [{ sent: '99999999999999999', else: 1769860800 }, NOON],
    [{ at: NOON }, NOON],
    [{ at: '2026-01-31T13:00:00+01:00' }, NOON],
    [{ at: '2026-01-31T12:00:00' }, NOON],
    [{ at: '2026-01-31 12:00:00' }, NOON],
    [{ at: '2026-01-31T12:00' }, NOON],
    [{ at: '2026-01-31T12:00:00.0000000' }, NOON],
    [{ at: '2026-01-31 12:00:00 UTC' }, NOON],
    [{ at: '2026-01-31' }, '2026-01-31T00:00:00.000Z'],
    [{ at: '' }, undefined],
    [{ at: 'yesterday' }, undefined],
    [{ at: 'on 2026-01-31' }, undefined],
    [{ at: '-1' }, undefined],
    [{ at: true }, undefined],
    [{ at: 1e300 }, undefined],
    [{}, undefined],
  ])('%j is read as %s, wherever the machine is', async (json, time) => {
    expect((await identified({ occurredAt: anyOf }, { id: '1', ...json })).occurredAt?.toISOString()).toBe(time);
  });
});

describe('a provider of which only some types repeat their bodies', () => {
  const id = {
    at: '{header:x-id}',
    signed: false,
    replayKey: '{json:token}',
    bodiesRepeat: [
      [{ at: 'header:x-type', is: 'start' }, { at: 'json:job' }],
      [{ at: 'header:x-type', like: /^action\./ }],
    ],
  } as const;

  it.each([
    ['start', { job: 'a' }, null],
    ['start', { job: 'a', token: 't' }, 't'],
    ['action.b', {}, null],
    ['start', {}, '{}'],
    ['start', { job: {} }, '{"job":{}}'],
    ['push', { job: 'a' }, '{"job":"a"}'],
  ])('a %s of %j is known again by %j', async (type, json, text) => {
    const { fingerprint } = await identified({ id }, json, { 'x-id': '1', 'x-type': type });
    expect(fingerprint).toBe(text && createHash('sha256').update(text).digest('hex'));
  });
});

it('of the headers, those are kept that identified the event, who sent it, of what type and time it is, and a valid trace', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const kept = {
    'content-type': 'application/json',
    'user-agent': 'GitHub-Hookshot/1',
    'x-github-delivery': 'an id',
    'x-github-event': 'push',
  };
  const sent = { ...kept, 'x-hub-signature-256': 'sha256=00', authorization: 'Bearer x', cookie: 'a=b' };
  expect(keptHeaders(providerOf('github'), new Headers({ ...sent, traceparent }))).toEqual({ ...kept, traceparent });
  expect(keptHeaders(providerOf('github'), new Headers({ ...sent, traceparent: 'invalid' }))).toEqual(kept);
  const time = { 'x-shopify-triggered-at': '2026-01-31T12:00:00Z' };
  expect(keptHeaders(providerOf('shopify'), new Headers({ ...time, 'x-shopify-hmac-sha256': 'AA==' }))).toEqual(time);
  const id = { 'x-event-id': 'one' };
  expect(keptHeaders(providerOf('coinbase-cdp'), new Headers({ ...id, 'x-hook0-signature': 't=1' }))).toEqual(id);
});

it('a kept header is cut, and the events of a batch keep only the trace, so that a delivery stores no more than it sent', () => {
  const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
  const headers = new Headers({ 'user-agent': 'a'.repeat(60_000), 'content-type': 'b'.repeat(512), traceparent });
  const kept = { 'user-agent': 'a'.repeat(512), 'content-type': 'b'.repeat(512), traceparent };
  expect(keptHeaders(providerOf('sendgrid'), headers)).toEqual(kept);
  expect(keptHeaders(providerOf('sendgrid'), headers, 2)).toEqual({ traceparent });
});

describe('the order key of an event', () => {
  const keyOf = async (orderKey: Source['orderKey'], json: object) => {
    const { orderKey: key, orderPlace } = await identified({}, { id: '1', ...json }, {}, orderKey ? { orderKey } : {});
    return key === undefined ? undefined : [key, orderPlace];
  };
  const OF = '{json:object.customer}';

  it.each([
    [OF, { object: { customer: 'cus_1' } }, 'cus_1'],
    [[OF, '{json:account}'], { account: 7 }, '7'],
    [{ of: OF, afterParked: 'continue' as const }, { object: { customer: 'cus_1' } }, 'cus_1'],
    ['{json:account}-{json:region}', { account: 7, region: 'eu' }, '7-eu'],
    // More than 128 bytes do not fit into an index entry beside a long id.
    [OF, { object: { customer: 'é'.repeat(64) } }, 'é'.repeat(64)],
    [OF, { object: { customer: 'é'.repeat(65) } }, createHash('sha256').update('é'.repeat(65)).digest('hex')],
  ])('made by %j of %j is %s', async (orderKey, json, expected) => {
    expect(await keyOf(orderKey, json)).toEqual([expected, 0]);
  });

  it.each([
    ['a source without one', undefined, { object: { customer: 'cus_1' } }],
    ['a place that is empty', OF, { object: { customer: '' } }],
    ['a place that is missing', OF, { object: {} }],
    ['a text that Postgres cannot store', OF, { object: { customer: 'a\0' } }],
  ])('is none with %s', async (_what, orderKey, json) => {
    expect(await keyOf(orderKey, json)).toBeUndefined();
  });
});

it('suspected replays of one tenant share a body, as those of a source do, and two tenants never share a replay key', async () => {
  const identified = async (tenant: string | undefined, form: boolean) => {
    const provider = providerOf('github');
    const body = new TextEncoder().encode(JSON.stringify({ action: 'opened' }));
    const headers = new Headers({ 'x-github-delivery': 'one', 'x-github-event': 'issues' });
    const delivery = new DeliveryValues({ method: 'POST', url: 'https://example.com/', headers, body });
    const source = { provider: form ? { ...provider, form: true as const } : provider, types: [] };
    const result = await identify(source, delivery, randomUUID, tenant);
    return result.outcome === 'identified' ? result.events[0] : undefined;
  };
  const [of, acme, globex] = [
    await identified(undefined, false),
    await identified('acme', false),
    await identified('globex', false),
  ];
  expect([of?.isBodyHash, acme?.isBodyHash, globex?.isBodyHash]).toEqual([true, true, true]);
  expect(new Set([of?.fingerprint, acme?.fingerprint, globex?.fingerprint]).size).toBe(3);
  expect((await identified('acme', true))?.isBodyHash).toBe(undefined);
});
