import type { Condition, Delivery, Place, Template } from '../providers/types.ts';
import { type Bytes, concat, fromBase64 } from '../shared/bytes.ts';
import { decodeText, formOf, parseJson } from '../shared/json.ts';
import { memoize } from '../shared/memoize.ts';

/** The values that places and templates can refer to. */
export interface TemplateValues extends Delivery {
  /** The JSON of the body, or of one item of a batch. `undefined` until the body may be parsed. */
  readonly json?: unknown;
  /** For `jws:` places: the payload of the token. */
  readonly claims?: unknown;
  /** For `signed-header:` places: the names of the headers that the signature covers. */
  readonly signedHeaders?: readonly string[];
  /** For `{sha256}`. */
  readonly sha256?: string | undefined;
  /** For `{crc32}`. */
  readonly crc32?: string | undefined;
  /** For `{random}`: makes a new random text. */
  readonly randomId?: (() => string) | undefined;
  /** For `{hmac-hex:…}`: the value at each place, signed with the secret. */
  readonly hmacHex?: Readonly<Record<Place, string>>;
}

/** All texts at one or several places. Only a list header legitimately holds more than one. */
export function textsAt(places: Place | readonly Place[], values: TemplateValues): string[] {
  return asList(places).flatMap((place) => readerOf(place)(values));
}

/**
 * The single text at one or several places. `undefined` if there are two, because we can't know which one the sender
 * meant.
 */
export function textAt(place: Place | readonly Place[], values: TemplateValues): string | undefined {
  const texts = textsAt(place, values);
  return texts.length === 1 ? texts[0] : undefined;
}

/** The JSON value at a path, of any type. */
export function jsonAt(path: string, json: unknown): unknown {
  let value = json;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** Places come from provider data, so there are few of them. Each is parsed once. */
const readerOf = memoize((place: Place): ((values: TemplateValues) => string[]) => {
  const [kind, rest] = split(place, ':');
  switch (kind) {
    case 'json':
      return ({ json }) => textsIn(json, rest);
    case 'jws':
      return ({ claims }) => textsIn(claims, rest);
    case 'inner': {
      const [outer, path] = split(rest, '#');
      return ({ json }) => textsIn(innerJson(jsonAt(outer, json)), path);
    }
    case 'body':
      return ({ body }) => [decodeText(body) ?? ''].filter(Boolean);
    case 'form':
      return ({ headers, body }) => formOf(headers, body)?.getAll(rest) ?? [];
    case 'query':
      return ({ url }) => (URL.canParse(url) ? new URL(url).searchParams.getAll(rest) : []);
    case 'signed-header':
      return (values) => (values.signedHeaders?.includes(rest) ? textsAt(`header:${rest}`, values) : []);
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

/**
 * Reads the values of one key in a list header: `t=1,v1=abc` (Stripe), `ts=1;h1=abc` (Paddle) or `v1,abc v1,def`
 * (Standard Webhooks). An entry is `key=value` or `key,value`; a comma, a semicolon or white space separates entries.
 */
function listReader(key: string): (header: string) => string[] {
  const entry = new RegExp(`(?:^|[,;\\s])${key}[=,]([^,;\\s]*)`, 'g');
  return (header) => {
    const values: string[] = [];
    // `matchAll` copies the expression on each call, which makes it several times slower.
    for (let match = entry.exec(header); match !== null; match = entry.exec(header)) values.push(match[1] ?? '');
    return values;
  };
}

function textsIn(json: unknown, path: string): string[] {
  const text = asText(jsonAt(path, json));
  return text === undefined ? [] : [text];
}

/** JSON may be plain or in base64. Base64 can't contain a brace. */
function innerJson(value: unknown): unknown {
  if (typeof value !== 'string') return undefined;
  const bytes = value.startsWith('{') ? undefined : fromBase64(value);
  const parsed = parseJson(bytes === undefined ? value : (decodeText(bytes) ?? ''));
  return parsed.outcome === 'parsed' ? parsed.json : undefined;
}

/** Returns a string unchanged, and a number or boolean as JSON writes it. */
function asText(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  // An integer beyond 2^53 may have been rounded (1e16). If two ids became the same text, an event would be lost.
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? undefined : String(value);
}

function split(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}

/** `{header:x}.{body}` becomes `['', 'header:x', '.', 'body', '']`: plain text and placeholders, in turn. */
const piecesOf = memoize((template: Template): readonly string[] => template.split(/[{}]/));

/** Fills a template with bytes. `{body}` is taken as it came. `undefined` if a place holds no text. */
export function fillBytes(template: Template, values: TemplateValues): Bytes | undefined {
  // Most providers sign the body alone. It is never in shared memory, which is all that the types want to exclude here.
  if (template === '{body}') return values.body as Bytes;
  const pieces = fill(template, values, values.body);
  return pieces && concat(pieces);
}

/** Fills a template with text. `undefined` if a place holds no text, or the template has `{body}`, which is bytes. */
export function fillText(template: Template, values: TemplateValues): string | undefined {
  return fill(template, values)?.join('');
}

function fill(template: Template, values: TemplateValues, body?: Uint8Array): (string | Uint8Array)[] | undefined {
  const pieces: (string | Uint8Array)[] = [];
  for (const [index, part] of piecesOf(template).entries()) {
    const piece = index % 2 === 0 ? part : part === 'body' ? body : textFor(part, values);
    if (piece === undefined) return undefined;
    pieces.push(piece);
  }
  return pieces;
}

/** Returns the first template that can be filled and whose text `isWanted` accepts. */
export function fillFirst(
  at: Template | readonly Template[],
  values: TemplateValues,
  isWanted = (_text: string) => true,
) {
  for (const template of asList(at)) {
    const text = fillText(template, values);
    if (text !== undefined && isWanted(text)) return text;
  }
  return undefined;
}

/** Provider data may give one place or template, or a list. */
export function asList<Text extends string>(one: Text | readonly Text[]): readonly Text[] {
  return typeof one === 'string' ? [one] : one;
}

export function meets(conditions: readonly Condition[], values: TemplateValues): boolean {
  return conditions.every(({ at, is, like }) => {
    const text = textAt(at, values);
    return text !== undefined && (is === undefined || text === is) && (like === undefined || like.test(text));
  });
}

function textFor(placeholder: string, values: TemplateValues): string | undefined {
  switch (placeholder) {
    case 'method':
    case 'url':
    case 'sha256':
    case 'crc32':
      return values[placeholder];
    case 'random':
      return values.randomId?.();
  }
  if (placeholder.startsWith('hmac-hex:')) return values.hmacHex?.[placeholder.slice('hmac-hex:'.length) as Place];
  if (!placeholder.startsWith('json?:')) return textAt(placeholder as Place, values);
  const value = jsonAt(placeholder.slice('json?:'.length), values.json);
  return value === undefined || value === null ? '' : asText(value);
}

/** The headers that a provider's templates name. They identify the event, so they are stored with it. */
export function headersNamed(templates: readonly string[]): string[] {
  return templates.flatMap((template) => Array.from(template.matchAll(/header:([^}#]+)/g), ([, name = '']) => name));
}
