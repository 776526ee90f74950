import { describe, expect, it } from 'vitest';
import { type Pair, type Pairs, RETRY } from '../../../src/providers/proof.ts';
import { proofOf, proofs } from '../../../workshop/proofs.ts';
import { names, providerOf, type Sent, withHeaders } from '../../verify/deliveries.ts';
import { useProviders } from './running.ts';

const { outcomesOf, sample } = useProviders();

it.each(names)('%s has two deliveries that are two events', (name) => {
  expect(Object.keys(proofOf(name).pairs.apart)).not.toEqual([]);
});

/** A minute passes between the two, so what signs a time is signed differently. */
const MINUTE = 60_000;

function deliveriesOf(name: string, all: Pairs, pair: Pair): [Sent, Sent] {
  const { type = all.type, headers = {} } = pair.both ?? {};
  const { body = all.body } = pair;
  const written = (now: Date, values: Pair['values'] = {}) => {
    const json: object = structuredClone(typeof body === 'function' ? body(now) : body);
    for (const [path, value] of Object.entries(values)) put(json, path.split('.'), value);
    return providerOf(name).form ? new URLSearchParams(Object.entries(json)).toString() : JSON.stringify(json);
  };
  const then = new Date(Date.now() - MINUTE);
  const now = new Date();
  const typed = (it: string | undefined) => (it === undefined ? {} : { type: it });
  const first = sample(name, { id: 'msg_one', now: then, body: written(then), ...typed(type) });
  const second = sample(name, {
    id: pair.id ?? 'msg_one',
    now,
    body: written(now, pair.values),
    ...typed(pair.type ?? type),
  });
  return [withHeaders(first, headers), withHeaders(second, { ...headers, ...pair.headers })];
}

function put(json: object, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) Reflect.set(json, key, value);
  else put(Reflect.get(json, key), rest, value);
}

describe.each(Object.entries(proofs))('%s', (name, { pairs: all }) => {
  it.each(Object.entries(all.apart))('claims both: %s', async (_what, pair) => {
    expect(await outcomesOf(name, deliveriesOf(name, all, pair))).toEqual(['accepted', 'accepted']);
  });

  it.each(Object.entries<Pair>({ [RETRY]: {}, ...all.same }))('runs once: %s', async (_what, pair) => {
    expect(await outcomesOf(name, deliveriesOf(name, all, pair))).toEqual(['accepted', pair.outcome ?? 'duplicate']);
  });
});
