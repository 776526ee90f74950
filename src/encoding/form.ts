import { decodeText } from './json.ts';

const FORM = 'application/x-www-form-urlencoded';

/** The fields of a form-encoded body. None where the delivery doesn't say that it is one: JSON may look like a form. */
export function formOf(headers: Headers, body: Uint8Array): URLSearchParams | undefined {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  const text = type.trim().toLowerCase() === FORM ? decodeText(body) : undefined;
  return text === undefined ? undefined : new URLSearchParams(text);
}

/** A form as JSON: a field is a string, one that comes several times a list of them. */
export function formAsJson(form: URLSearchParams): Record<string, string | string[]> {
  const entries = Array.from(fieldsOf(form), ([name, values]): [string, string | string[]] => {
    const [value = '', ...more] = values;
    return [name, more.length === 0 ? value : values];
  });
  return Object.fromEntries(entries);
}

/** In one pass: to look each name up in the form is quadratic, and a stranger's form of a few KiB would take seconds. */
export function fieldsOf(form: URLSearchParams): Map<string, string[]> {
  const fields = new Map<string, string[]>();
  for (const [name, value] of form) {
    const values = fields.get(name);
    if (values) values.push(value);
    else fields.set(name, [value]);
  }
  return fields;
}
