import { type Bytes, join } from '../encoding/bytes.ts';
import { formOf } from '../encoding/form.ts';
import { listValues } from '../encoding/header.ts';
import type { Delivery, Place, Template } from '../providers/types.ts';

/** What places are looked up in. `json` is absent until the signature has been verified. */
export interface Sight extends Delivery {
  readonly json?: unknown;
  /** Of the event's own JSON, where a template asks for it. */
  readonly sha256?: string;
  /** What a value comes to when it is signed with the secret. */
  readonly hmacHex?: Readonly<Record<Place, string>>;
}

/** Every value found at a place: none, one, or the several candidates of a list header. */
export function valuesAt(place: Place | readonly Place[], sight: Sight): string[] {
  return typeof place === 'string' ? valuesOf(place, sight) : place.flatMap((one) => valuesOf(one, sight));
}

/** The one value at a place. Two are as good as none: nobody could say which of them was meant. */
export function valueAt(place: Place, sight: Sight): string | undefined {
  const values = valuesAt(place, sight);
  return values.length === 1 ? values[0] : undefined;
}

function valuesOf(place: Place, sight: Sight): string[] {
  const [kind, rest] = split(place, ':');
  switch (kind) {
    case 'json': {
      const value = asText(jsonAt(rest, sight.json));
      return value === undefined ? [] : [value];
    }
    case 'form':
      return formOf(sight.headers, sight.body)?.getAll(rest) ?? [];
    case 'query':
      return URL.canParse(sight.url) ? new URL(sight.url).searchParams.getAll(rest) : [];
    default:
      return headerValues(rest, sight.headers);
  }
}

function headerValues(place: string, headers: Headers): string[] {
  const [name, key] = split(place, '#');
  const header = headers.get(name);
  if (header === null) return [];
  return key === '' ? [header] : listValues(header, key);
}

/** Fills a template in as bytes; `{body}` goes in untouched. */
export function fillBytes(template: Template, sight: Sight): Bytes | undefined {
  const parts: (string | Uint8Array)[] = [];
  for (const [index, part] of template.split(/[{}]/).entries()) {
    // Splitting at the braces leaves plain text at even places and the names between braces at odd ones.
    const piece = index % 2 === 0 ? part : part === 'body' ? sight.body : pieceOf(part, sight);
    if (piece === undefined) return undefined;
    parts.push(piece);
  }
  return join(parts);
}

/** Fills a template in as text. */
export function fillText(template: Template, sight: Sight): string | undefined {
  let text = '';
  for (const [index, part] of template.split(/[{}]/).entries()) {
    const piece = index % 2 === 0 ? part : pieceOf(part, sight);
    if (piece === undefined) return undefined;
    text += piece;
  }
  return text;
}

/** Fills in the first of several templates that can be. */
export function fillFirst(templates: Template | readonly Template[], sight: Sight): string | undefined {
  return [templates]
    .flat()
    .map((template) => fillText(template, sight))
    .find((text) => text !== undefined);
}

function pieceOf(name: string, sight: Sight): string | undefined {
  switch (name) {
    case 'method':
    case 'url':
    case 'sha256':
      return sight[name];
    case 'random':
      return crypto.randomUUID();
  }
  if (name.startsWith('hmac-hex:')) return sight.hmacHex?.[name.slice('hmac-hex:'.length) as Place];
  if (!name.startsWith('json?:')) return valueAt(name as Place, sight);
  const value = jsonAt(name.slice('json?:'.length), sight.json);
  return value === undefined || value === null ? '' : asText(value);
}

/** The headers a provider's templates name, so that what identified an event can be kept with it. */
export function headersNamed(templates: readonly string[]): string[] {
  return templates.flatMap((template) => Array.from(template.matchAll(/header:([^}#]+)/g), (match) => match[1] ?? ''));
}

export function jsonAt(path: string, json: unknown): unknown {
  let value = json;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

function asText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  // An integer beyond 2^53 has been rounded by JSON.parse: two ids would become one, and an event would be lost.
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

function split(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
