import { decodeText } from './json.ts';

const FORM = 'application/x-www-form-urlencoded';

/** The fields of a form. `undefined` if the content type is not a form's: some JSON could also be read as a form. */
export function formOf(headers: Headers, body: Uint8Array): URLSearchParams | undefined {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  const text = type.trim().toLowerCase() === FORM ? decodeText(body) : undefined;
  return text === undefined ? undefined : new URLSearchParams(text);
}

/** A form as JSON: a field is a string, and a repeated field is a list of strings. */
export function formAsJson(form: URLSearchParams): Record<string, string | string[]> {
  const entries = Array.from(fieldsOf(form), ([name, values]): [string, string | string[]] => {
    const [value = '', ...more] = values;
    return [name, more.length === 0 ? value : values];
  });
  return Object.fromEntries(entries);
}

/** In one pass, because `getAll` for each name is quadratic: a stranger's form of a few KiB would take seconds. */
export function fieldsOf(form: URLSearchParams): Map<string, string[]> {
  const fields = new Map<string, string[]>();
  for (const [name, value] of form) {
    const values = fields.get(name);
    if (values) values.push(value);
    else fields.set(name, [value]);
  }
  return fields;
}
