import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { madeUpKeys } from '../../cli/samples/sign.ts';
import { identify } from '../../src/receiver/identify.ts';
import { DeliveryValues } from '../../src/verify/delivery.ts';
import { deliver, NOW, names, providerOf, verdictOn } from './deliveries.ts';

afterEach(() => vi.restoreAllMocks());

/** These put the signature inside the body, so their bodies must be parsed before they are verified. */
const SIGNED_INSIDE = ['mailgun', 'adyen', 'microsoft-graph', 'aws-sns', 'apple'];

describe.each(names)('the JSON of a delivery from %s', (name) => {
  const provider = providerOf(name);

  it(`is ${SIGNED_INSIDE.includes(name) ? 'parsed to find the signature' : 'not parsed if the signature is wrong'}`, async () => {
    const delivery = new DeliveryValues(deliver(name));
    const parse = vi.spyOn(JSON, 'parse');
    const verdict = await verdictOn(provider, delivery, [madeUpKeys(provider).secret], NOW);
    expect(verdict.outcome).toBe('refused');
    // The parts of a token are JSON of their own.
    const bodies = parse.mock.calls.filter(([text]) => text === delivery.text());
    expect(bodies).toHaveLength(SIGNED_INSIDE.includes(name) ? 1 : 0);
  });

  it(`is parsed ${provider.form ? 'never, because it is a form' : 'once from verification to claim'}`, async () => {
    const sent = deliver(name);
    const delivery = new DeliveryValues(sent);
    const parse = vi.spyOn(JSON, 'parse');
    expect((await verdictOn(provider, delivery, [sent.keys.secret], NOW)).outcome).toBe('verified');
    expect((await identify({ provider, types: [] }, delivery, randomUUID)).outcome).toBe('identified');
    // The payload of a token is parsed before it is verified, and again when it has become the body.
    const { scheme } = provider;
    const isEvent = scheme.check !== undefined && scheme.kind === 'jose' && scheme.isEvent;
    const bodies = parse.mock.calls.filter(([text]) => text === delivery.text());
    expect(bodies).toHaveLength(provider.form ? 0 : isEvent ? 2 : 1);
  });
});

it('if the signature is in a header, a signed template with a JSON place is refused without parsing the JSON', async () => {
  const github = providerOf('github');
  if (github.scheme.token !== undefined || github.scheme.check !== undefined) throw new Error('GitHub signs');
  const provider = { ...github, scheme: { ...github.scheme, signed: '{json:after}{body}' } };
  const sent = deliver('github');
  const parse = vi.spyOn(JSON, 'parse');
  const verdict = await verdictOn(provider, sent, [sent.keys.secret], NOW);
  expect(verdict).toMatchObject({ outcome: 'refused', reason: 'signed header missing' });
  expect(parse).not.toHaveBeenCalled();
});
