/** A shorter text occurs by chance, and makes a poor secret. */
const MIN_SECRET_LENGTH = 8;

/** A token in a URL or a line of a PEM file. Plain words (`services`, `hooks.slack.com`) are not worth hiding. */
const LOOKS_SECRET = /[A-Z0-9]/;

/**
 * Replaces the values of variables and secrets in a text by their names, as in `Invalid URL: [SLACK_URL]`. More people
 * read errors than secrets, and runtimes quote what they refuse. A Worker can't tell its secrets from its variables, so
 * the values of both are replaced: whole, the password of a URL, and parts of URLs and keys that look like a secret.
 */
export function hideSecrets(text: string, env: object): string {
  const hidden = Object.entries(env).flatMap(([name, value]: [string, unknown]) =>
    typeof value === 'string' ? secretsIn(value.trim()).map((secret) => ({ name, secret })) : [],
  );
  // The longest first, because one may be a part of another.
  hidden.sort((a, b) => b.secret.length - a.secret.length);
  return hidden.reduce((result, { name, secret }) => result.replaceAll(secret, () => `[${name}]`), text);
}

function secretsIn(value: string): string[] {
  const parts = value.split(/[\s/?#&=:@]+/).filter((part) => LOOKS_SECRET.test(part));
  const password = URL.parse(value)?.password ?? '';
  return [value, ...parts, password].filter(({ length }) => length >= MIN_SECRET_LENGTH);
}
