import { decrypt, encrypt } from '../shared/aes-gcm.ts';
import { memoize } from '../shared/memoize.ts';
import { settingOf } from '../shared/settings.ts';

/** `github-org` → `GITHUB_ORG_WEBHOOK_SECRET`. Only for names of configured sources, because each result is kept. */
export const secretName = memoize(
  (source: string) => `${source.replaceAll(/[^a-z0-9]+/gi, '_').toUpperCase()}_WEBHOOK_SECRET`,
);

/**
 * The current secret and, while it is being rotated, the previous one. Without a current secret there is none at all:
 * a source that lost its secret must not go on with an old one. White space at the ends is not part of a secret: a dashboard
 * or a pipe adds it easily, and every delivery would be refused.
 */
export function secretsOf(source: string, env: object): string[] {
  const current = settingOf(env, secretName(source))?.trim();
  const previous = settingOf(env, `${secretName(source)}_PREVIOUS`)?.trim();
  if (!current) return [];
  return previous ? [current, previous] : [current];
}

/** `META_VERIFY_TOKEN`: Meta must send it before its subscription to our address is confirmed. */
export const verifyTokenName = memoize((source: string) =>
  secretName(source).replace(/_WEBHOOK_SECRET$/, '_VERIFY_TOKEN'),
);

// Notion and Asana send us the secret with which they will sign. The operator must get it, but the log must not show
// it. The operator has set a random placeholder as the source's secret until then, so the log shows the real secret
// encrypted with this placeholder.

/** Somebody who reads the log could guess a shorter passphrase. `openssl rand -hex 32` makes 64 characters. */
export const MIN_PASSPHRASE = 32;

export async function seal(secret: string, passphrase: string): Promise<string> {
  return encrypt(await aesKeyFrom(passphrase), secret);
}

/** Throws if the passphrase is wrong or the text was not made by `seal`. */
export async function unseal(text: string, passphrase: string): Promise<string> {
  return decrypt(await aesKeyFrom(passphrase), text);
}

/** A plain hash is enough to make a key, because the passphrase is random and long. */
async function aesKeyFrom(passphrase: string): Promise<CryptoKey> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(passphrase));
  return crypto.subtle.importKey('raw', hash, 'AES-GCM', false, ['encrypt', 'decrypt']);
}
