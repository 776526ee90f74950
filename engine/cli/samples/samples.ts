import { randomUUID } from 'node:crypto';
import type { Provider } from '../../src/providers/index.ts';
import type { Sample } from '../../src/providers/sample.ts';
import { samples } from '../../src/providers/samples.ts';

export function sampleOf(provider: Provider): Sample {
  const sample = { ...sampleFrom(provider), ...samples[provider.name] };
  const body: Sample['body'] = (id, type, now) => {
    const made = sample.body(id, type, now);
    // In a batch, places refer to the items. A form is never a batch.
    if (!provider.batch || provider.form) for (const [place, value] of partsOf(provider, type)) put(made, place, value);
    return made;
  };
  return { ...sample, body };
}

/**
 * Splits a type into the values at its places. GitHub's `issues.opened` is `issues` in a header and `opened` in the
 * body.
 */
export function partsOf({ type: templates }: Pick<Provider, 'type'>, type: string): [place: string, value: string][] {
  for (const template of templates) {
    const texts = template.split(PLACEHOLDER).filter((_, index) => index % 2 === 0);
    const found = new RegExp(`^${texts.map(escaped).join('(.+?)')}$`, 's').exec(type);
    if (found) return placesIn(template).map((place, index) => [place, found[index + 1] ?? '']);
  }
  return [];
}

const PLACEHOLDER = /\{([^}]+)\}/;

/** Node 22 doesn't have `RegExp.escape`. */
function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

/**
 * Makes a sample with everything that the receiver reads: an id, a type, a time and a signature, at the places in the
 * provider's data.
 */
function sampleFrom({ scheme, batch, form, type, id, occurredAt }: Provider): Sample {
  const [signature, timestamp] =
    scheme.token !== undefined ? [scheme.token, undefined] : [[scheme.signature].flat()[0], scheme.timestamp?.at];
  const [idAt = ''] = [id.at].flat();
  const [happened] = [occurredAt ?? []].flat();
  const [happenedAt] = [happened?.at ?? []].flat();
  // The path of the first list of items: `*` or `events.*`.
  const [list] = form ? [] : (batch?.each ?? []);
  const wanted: [place: string, value: string][] = [
    ...(timestamp ? [[timestamp, '{timestamp}'] as [string, string]] : []),
    [signature ?? '', scheme.token !== undefined ? '{token}' : '{signature}'],
    ...placesIn(idAt).map((place): [string, string] => [place, '{id}']),
  ];
  return {
    types: [typeFrom(type)],
    id: randomUUID,
    headers: headersFrom(wanted),
    body: (eventId, eventType, now) => {
      const time = happened?.unit === 'iso' ? now.toISOString() : now.getTime() / (happened?.unit === 's' ? 1000 : 1);
      // Makes the body unique if the id is a hash of the body or is in a header.
      const item = { sample: eventId };
      for (const [place, value] of wanted) put(item, place, value.replace('{id}', eventId));
      if (happenedAt) put(item, happenedAt, time);
      if (list === undefined) return item;
      for (const [place, value] of partsOf({ type }, eventType)) put(item, place, value);
      const path = list.split('.').slice(0, -1);
      return path.reduceRight<object>((inside, key) => ({ [key]: inside }), [item]);
    },
  };
}

/** The type `order.created`, whether it has one place or is composed of two. */
function typeFrom([template = '']: Provider['type']): string {
  const words = ['sample', 'created'];
  return placesIn(template).length === 1 && template.startsWith('{') && template.endsWith('}')
    ? words.join('.')
    : placesIn(template).reduce((type, place, index) => type.replace(`{${place}}`, words[index] ?? 'sample'), template);
}

function placesIn(template: string): string[] {
  return template.split(PLACEHOLDER).filter((_, index) => index % 2 === 1);
}

/** Joins the values of a list header: `k=v,k=v`. */
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
