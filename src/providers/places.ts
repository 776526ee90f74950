import type { Place, Template } from './types.ts';

/** What places are looked up in. `json` is absent until the signature has been verified. */
export interface Sight {
  readonly headers: Headers;
  readonly body: Uint8Array;
  readonly json?: unknown;
}

const utf8 = new TextEncoder();

/** Every value found at a place: none, one, or the several candidates of a list header. */
export function valuesAt(place: Place, sight: Sight): string[] {
  const [kind, rest] = split(place, ':');
  if (kind === 'json') {
    const value = jsonAt(rest, sight.json);
    return value === undefined ? [] : [value];
  }
  const [name, key] = split(rest, '#');
  const header = sight.headers.get(name);
  if (header === null) return [];
  if (key === '') return [header];
  const entry = new RegExp(`(?:^|[,;\\s])${key}[=,]([^,;\\s]*)`, 'g');
  return Array.from(header.matchAll(entry), (match) => match[1] ?? '');
}

/** The one value at a place. Two are as good as none: nobody could say which of them was meant. */
export function valueAt(place: Place, sight: Sight): string | undefined {
  const values = valuesAt(place, sight);
  return values.length === 1 ? values[0] : undefined;
}

/** Fills a template in as bytes; `{body}` goes in untouched. */
export function fillBytes(template: Template, sight: Sight): Uint8Array<ArrayBuffer> | undefined {
  const parts: Uint8Array[] = [];
  for (const [index, part] of template.split(/[{}]/).entries()) {
    // Splitting at the braces leaves plain text at even places and the names between braces at odd ones.
    const piece = index % 2 === 0 ? part : part === 'body' ? sight.body : valueAt(part as Place, sight);
    if (piece === undefined) return undefined;
    parts.push(typeof piece === 'string' ? utf8.encode(piece) : piece);
  }
  const bytes = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** Fills a template in as text. */
export function fillText(template: Template, sight: Sight): string | undefined {
  let text = '';
  for (const [index, part] of template.split(/[{}]/).entries()) {
    const piece = index % 2 === 0 ? part : valueAt(part as Place, sight);
    if (piece === undefined) return undefined;
    text += piece;
  }
  return text;
}

/** The headers a provider's templates name, so that what identified an event can be kept with it. */
export function headersNamed(templates: readonly string[]): string[] {
  return templates.flatMap((template) => Array.from(template.matchAll(/header:([^}#]+)/g), (match) => match[1] ?? ''));
}

function jsonAt(path: string, json: unknown): string | undefined {
  let value = json;
  for (const key of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  if (typeof value === 'string') return value;
  // An integer beyond 2^53 has been rounded by JSON.parse: two ids would become one, and an event would be lost.
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

function split(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
