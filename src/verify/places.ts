import { type Bytes, join } from '../encoding/bytes.ts';
import { formOf } from '../encoding/form.ts';
import { listReader } from '../encoding/header.ts';
import { once } from '../encoding/once.ts';
import type { Delivery, Place, Template } from '../providers/types.ts';

/** What places are looked up in, and what templates are filled from. */
export interface TemplateValues extends Delivery {
  /** The JSON of the body, or of one item of a batch. While the body must not be parsed yet, it is absent. */
  readonly json?: unknown;
  /** For `{sha256}`. */
  readonly sha256?: string;
  /** For `{hmac-hex:…}`: the value at each place, signed with the secret. */
  readonly hmacHex?: Readonly<Record<Place, string>>;
}

/** Every value found at a place. Only a list header can hold more than one on purpose. */
export function valuesAt(place: Place | readonly Place[], values: TemplateValues): string[] {
  if (typeof place === 'string') return readOf(place)(values);
  const found: string[] = [];
  // A loop, because a form may have more values than a call can have arguments.
  for (const one of place) for (const value of readOf(one)(values)) found.push(value);
  return found;
}

/** Data of providers names one place or template, or several. */
export function listOf<Text extends string>(one: Text | readonly Text[]): readonly Text[] {
  return typeof one === 'string' ? [one] : one;
}

/** The only value at a place. If there are two, we can't know which one the sender meant, so there is none. */
export function valueAt(place: Place, values: TemplateValues): string | undefined {
  const found = valuesAt(place, values);
  return found.length === 1 ? found[0] : undefined;
}

type Read = (values: TemplateValues) => string[];

/** Places and templates come from the data of providers, so there are few. Each is taken apart once. */
const readOf = once((place: Place): Read => {
  const [kind, rest] = split(place, ':');
  switch (kind) {
    case 'json':
      return ({ json }) => {
        const value = asText(jsonAt(rest, json));
        return value === undefined ? [] : [value];
      };
    case 'form':
      return ({ headers, body }) => formOf(headers, body)?.getAll(rest) ?? [];
    case 'query':
      return ({ url }) => (URL.canParse(url) ? new URL(url).searchParams.getAll(rest) : []);
    default: {
      const [name, key] = split(rest, '#');
      const readList = key === '' ? (header: string) => [header] : listReader(key);
      return ({ headers }) => {
        const header = headers.get(name);
        return header === null ? [] : readList(header);
      };
    }
  }
});

/** Plain text at even positions, and at odd ones the names that were between braces. */
const piecesOf = once((template: Template): readonly string[] => template.split(/[{}]/));

/** Fills a template with bytes. `{body}` is taken as it came. `undefined` if a place holds no value. */
export function fillBytes(template: Template, values: TemplateValues): Bytes | undefined {
  // Most providers sign the body alone. It is never in shared memory, which is all that the types want to exclude here.
  if (template === '{body}') return values.body as Bytes;
  const parts: (string | Uint8Array)[] = [];
  for (const [index, part] of piecesOf(template).entries()) {
    const piece = index % 2 === 0 ? part : part === 'body' ? values.body : pieceOf(part, values);
    if (piece === undefined) return undefined;
    parts.push(piece);
  }
  return join(parts);
}

/** Fills a template with text. `undefined` if a place holds no value. */
export function fillText(template: Template, values: TemplateValues): string | undefined {
  let text = '';
  for (const [index, part] of piecesOf(template).entries()) {
    const piece = index % 2 === 0 ? part : pieceOf(part, values);
    if (piece === undefined) return undefined;
    text += piece;
  }
  return text;
}

/** Fills the first template whose places all hold a value. */
export function fillFirst(templates: Template | readonly Template[], values: TemplateValues): string | undefined {
  for (const template of listOf(templates)) {
    const text = fillText(template, values);
    if (text !== undefined) return text;
  }
  return undefined;
}

function pieceOf(name: string, values: TemplateValues): string | undefined {
  switch (name) {
    case 'method':
    case 'url':
    case 'sha256':
      return values[name];
    case 'random':
      return crypto.randomUUID();
  }
  if (name.startsWith('hmac-hex:')) return values.hmacHex?.[name.slice('hmac-hex:'.length) as Place];
  if (!name.startsWith('json?:')) return valueAt(name as Place, values);
  const value = jsonAt(name.slice('json?:'.length), values.json);
  return value === undefined || value === null ? '' : asText(value);
}

/** The headers that a provider's templates name. They identified the event, so they are kept with it. */
export function headersNamed(templates: readonly string[]): string[] {
  return templates.flatMap((template) => Array.from(template.matchAll(/header:([^}#]+)/g), ([, name = '']) => name));
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
  // JSON.parse has rounded an integer beyond 2^53, so two ids could become one and an event would be lost.
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

function split(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
