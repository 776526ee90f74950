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
  if (words.length !== entries.length || !entries.every(([, like], n) => like.test(words[n] ?? ''))) return undefined;
  const named = Object.fromEntries(entries.map(([name], n) => [name, words[n] ?? '']));
  return { secret, words: named, ...(publicKey === undefined ? {} : { publicKey }) };
}

/** `{x}` is a word of the secret. */
export function filled(template: string, { words }: Pick<Settings, 'words'>): string {
  return template.replaceAll(/\{(\w+)\}/g, (_, name: string) => words[name] ?? '');
}
