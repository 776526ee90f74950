import type { Claim } from '../providers/types.ts';
import { type TemplateValues, textAt } from './places.ts';

/** The secret of a scheme with `settings`: not a key, but what a token or a certificate must be for. */
export interface Settings {
  readonly secret: string;
  readonly words: Readonly<Record<string, string>>;
  /** SPKI, in base64. It replaces the keys that are fetched. */
  readonly publicKey?: string;
}

const KEY = 'key:';

/** `undefined` if the secret has not the form that the scheme wants. */
export function settingsOf(
  { settings: patterns }: { readonly settings?: Readonly<Record<string, RegExp>> },
  secret: string,
): Settings | undefined {
  if (secret === '') return undefined;
  if (patterns === undefined) return { secret, words: {} };
  const words = secret.split(/\s+/);
  const last = words.at(-1) ?? '';
  const publicKey = last.startsWith(KEY) ? last.slice(KEY.length) : undefined;
  if (publicKey !== undefined) words.pop();
  const entries = Object.entries(patterns);
  if (words.length !== entries.length) return undefined;
  const named: Record<string, string> = {};
  for (const [n, [name, like]] of entries.entries()) {
    const match = like.exec(words[n] ?? '');
    if (match === null) return undefined;
    // A part of a word may have a name of its own: the region of a topic.
    Object.assign(named, { [name]: match[0], ...match.groups });
  }
  return { secret, words: named, ...(publicKey === undefined ? {} : { publicKey }) };
}

/** Whether a claim holds. A claim is no secret, so the time of the comparison may say where it differs. */
export function holds({ at, is, like, optional }: Claim, settings: Settings, values: TemplateValues): boolean {
  const text = textAt(at, values);
  if (text === undefined) return optional === true;
  return (is === undefined || text === filled(is, settings)) && (like === undefined || like.test(text));
}

/** `{x}` is a word of the secret. */
export function filled(template: string, { words }: Pick<Settings, 'words'>): string {
  return template.replaceAll(/\{(\w+)\}/g, (whole, name: string) => words[name] ?? whole);
}
