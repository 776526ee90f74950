import { randomUUID } from 'node:crypto';
import type { Provider } from '../../src/providers/index.ts';
import type { Sample } from '../../src/providers/sample.ts';
import { samples } from '../../src/providers/samples.ts';

export function sampleOf(provider: Provider): Sample {
  const sample = { ...sampleFrom(provider), ...samples[provider.name] };
  const body: Sample['body'] = (id, type, now) => {
    const made = sample.body(id, type, now);
    // The places of a batch are those of its items. A form is never a batch.
    if (!provider.batch || provider.form) for (const [place, value] of partsOf(provider, type)) put(made, place, value);
    return made;
  };
  return { ...sample, body };
}

/**
 * A type, split as the provider composes it: the values by their places. GitHub's `issues.opened` is `issues` in a header
 * and `opened` in the body.
 */
export function partsOf({ type: templates }: Provider, type: string): [place: string, value: string][] {
  for (const template of templates) {
    const texts = template.split(PLACEHOLDER).filter((_, index) => index % 2 === 0);
    const found = new RegExp(`^${texts.map(RegExp.escape).join('(.+?)')}$`, 's').exec(type);
    if (found) return placesIn(template).map((place, index) => [place, found[index + 1] ?? '']);
  }
  return [];
}

const PLACEHOLDER = /\{([^}]+)\}/;

/** It has an id, a time and a signature where the provider's data names them, which is all that a user's own provider needs. */
function sampleFrom({ scheme, id, occurredAt }: Provider): Sample {
  const [signature, timestamp] =
    scheme.token !== undefined ? [scheme.token, undefined] : [[scheme.signature].flat()[0], scheme.timestamp?.at];
  const [idAt = ''] = [id.at].flat();
  const [happened] = [occurredAt ?? []].flat();
  const wanted: [place: string, value: string][] = [
    ...(timestamp ? [[timestamp, '{timestamp}'] as [string, string]] : []),
    [signature ?? '', scheme.token !== undefined ? '{token}' : '{signature}'],
    ...placesIn(idAt).map((place): [string, string] => [place, '{id}']),
  ];
  return {
    types: ['sample.created'],
    id: randomUUID,
    headers: headersFrom(wanted),
    body: (eventId, _type, now) => {
      const time = happened?.unit === 'iso' ? now.toISOString() : now.getTime() / (happened?.unit === 's' ? 1000 : 1);
      const body = {};
      for (const place of [happened?.at ?? []].flat()) put(body, place, time);
      for (const [place, value] of wanted) put(body, place, value.replace('{id}', eventId));
      return body;
    },
  };
}

function placesIn(template: string): string[] {
  return template.split(PLACEHOLDER).filter((_, index) => index % 2 === 1);
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
  const [, path] = /^json\??:(.+)$/.exec(place) ?? [];
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
