import type { Claim } from '../providers/types.ts';
import { type TemplateValues, textAt } from './places.ts';

/**
 * The parsed secret of a scheme with `settings`. It is not a key: it says what a token or a certificate must be for.
 */
export interface Settings {
  readonly secret: string;
  readonly words: Readonly<Record<string, string>>;
  /** SPKI in base64. It replaces the fetched keys. */
  readonly publicKey?: string;
}

const KEY = 'key:';

/** `undefined` if the secret doesn't have the scheme's format. */
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
    // A named group names a part of a word, such as the region of a topic.
    Object.assign(named, { [name]: match[0], ...match.groups });
  }
  return { secret, words: named, ...(publicKey === undefined ? {} : { publicKey }) };
}

/** Whether a claim holds. A claim is not secret, so the comparison need not take constant time. */
export function holds({ at, is, like, optional }: Claim, settings: Settings, values: TemplateValues): boolean {
  const text = textAt(at, values);
  if (text === undefined) return optional === true;
  return (is === undefined || text === filled(is, settings)) && (like === undefined || like.test(text));
}

/** Replaces each `{x}` with the word of the secret that has this name. */
export function filled(template: string, { words }: Pick<Settings, 'words'>): string {
  return template.replaceAll(/\{(\w+)\}/g, (whole, name: string) => words[name] ?? whole);
}
