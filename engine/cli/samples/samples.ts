import { randomUUID } from 'node:crypto';
import type { Provider } from '../../src/providers/index.ts';
import type { Sample } from '../../src/providers/sample.ts';
import { samples } from '../../src/providers/samples.ts';

export function sampleOf(provider: Provider): Sample {
  return { ...sampleFrom(provider), ...samples[provider.name] };
}

/** It has a value at each place that the provider's data names, which is all that a user's own provider needs. */
function sampleFrom({ scheme, id, type, occurredAt }: Provider): Sample {
  const [signature, timestamp] =
    scheme.token !== undefined ? [scheme.token, undefined] : [[scheme.signature].flat()[0], scheme.timestamp?.at];
  const [idAt = ''] = [id.at].flat();
  const [typeAt = ''] = type;
  const [happened] = [occurredAt ?? []].flat();
  const wanted: [place: string, value: string][] = [
    ...(timestamp ? [[timestamp, '{timestamp}'] as [string, string]] : []),
    [signature ?? '', scheme.token !== undefined ? '{token}' : '{signature}'],
    ...placesIn(idAt).map((place): [string, string] => [place, '{id}']),
    ...placesIn(typeAt).map((place): [string, string] => [place, '{type}']),
  ];
  return {
    types: ['sample.created'],
    id: randomUUID,
    headers: headersFrom(wanted),
    body: (eventId, eventType, now) => {
      const time = happened?.unit === 'iso' ? now.toISOString() : now.getTime() / (happened?.unit === 's' ? 1000 : 1);
      const body = {};
      for (const place of [happened?.at ?? []].flat()) put(body, place, time);
      for (const [place, value] of wanted)
        put(body, place, value.replace('{id}', eventId).replace('{type}', eventType));
      return body;
    },
  };
}

function placesIn(template: string): string[] {
  return Array.from(template.matchAll(/\{([^}]+)\}/g), ([, place = '']) => place);
}

/** The values of one list header are joined: `k=v,k=v`. */
function headersFrom(wanted: readonly [place: string, value: string][]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [place, value] of wanted) {
    const [, name, key] = /^header:([^#]+)#?(.*)$/.exec(place) ?? [];
    if (!name) continue;
    const entry = key ? `${key}=${value}` : value;
    headers[name] = key && headers[name] ? `${headers[name]},${entry}` : entry;
  }
  return headers;
}

function put(body: object, place: string, value: string | number): void {
  const [, path] = /^json:(.+)$/.exec(place) ?? [];
  const keys = path?.split('.') ?? [];
  const last = keys.pop();
  if (last === undefined) return;
  let at: object = body;
  for (const key of keys) {
    if (!Object.hasOwn(at, key)) Reflect.set(at, key, {});
    at = Reflect.get(at, key);
  }
  Reflect.set(at, last, value);
}
