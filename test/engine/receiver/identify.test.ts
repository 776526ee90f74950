import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { identify } from '../../../src/receiver/identify.ts';
import { DeliveryWithJson } from '../../../src/verify/delivery.ts';
import { deliver, names, providerOf, type Sent, withHeader } from '../verify/deliveries.ts';

/** The first event of a delivery, for a source of this provider. */
async function eventOf(name: string, sent: Sent, bodiesRepeat: boolean) {
  const source = { provider: providerOf(name), types: [], ...(bodiesRepeat ? { bodiesRepeat: true as const } : {}) };
  const identified = await identify(source, new DeliveryWithJson(sent), randomUUID);
  if (identified.outcome === 'unclaimable') throw new Error(identified.reason);
  const [event] = identified.events;
  if (!event) throw new Error('no event');
  return event;
}

/** The headers of a provider's id that are not part of its replay key. */
function idHeaders(name: string): string[] {
  const { at, replayKey = '' } = providerOf(name).id;
  const headersIn = (templates: readonly string[]) =>
    templates.flatMap((template) => Array.from(template.matchAll(/\{header:([^}]+)\}/g), ([, header = '']) => header));
  return headersIn([at].flat()).filter((header) => !headersIn([replayKey].flat()).includes(header));
}

const withUnsignedIdHeader = names.filter((name) => !providerOf(name).id.signed && idHeaders(name).length > 0);

describe.each(withUnsignedIdHeader)('one body of %s under two ids', (name) => {
  const first = deliver(name);
  const second = idHeaders(name).reduce((sent, header) => withHeader(sent, header, (id) => `${id}-new`), first);

  it('is two events without a common replay key if the source says that bodies repeat', async () => {
    const [one, other] = [await eventOf(name, first, true), await eventOf(name, second, true)];
    expect(other.eventId).not.toBe(one.eventId);
    expect([one.fingerprint, other.fingerprint]).toEqual([null, null]);
  });

  it(`${providerOf(name).id.bodiesRepeat ? 'has no replay key, because this provider repeats bodies' : 'has the same replay key'}`, async () => {
    const [one, other] = [await eventOf(name, first, false), await eventOf(name, second, false)];
    expect(other.eventId).not.toBe(one.eventId);
    expect(other.fingerprint).toBe(one.fingerprint);
    expect(one.fingerprint === null).toBe(providerOf(name).id.bodiesRepeat === true);
  });
});
