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
  const entries = [...new Set(form.keys())].map((name): [string, string | string[]] => {
    const [value = '', ...more] = form.getAll(name);
    return [name, more.length === 0 ? value : [value, ...more]];
  });
  return Object.fromEntries(entries);
}
