// Notion and Asana send us the secret with which they will sign. The operator must get it, but the log must not show it.
// The operator has set a random placeholder as the source's secret until then, so the log shows the real secret encrypted
// with this placeholder.

/** Somebody who reads the log could guess a shorter passphrase. `openssl rand -hex 32` makes 64 characters. */
export const MIN_PASSPHRASE = 32;

const IV_BYTES = 12;

export async function seal(secret: string, passphrase: string): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const sealed = await crypto.subtle.encrypt(
    { name: 'AES-GCM', iv },
    await aesKeyFrom(passphrase),
    new TextEncoder().encode(secret),
  );
  return btoa(String.fromCharCode(...iv, ...new Uint8Array(sealed)));
}

/** Throws if the passphrase is wrong or the text was not made by `seal`. */
export async function unseal(text: string, passphrase: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const [iv, sealed] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES)];
  return new TextDecoder().decode(
    await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, await aesKeyFrom(passphrase), sealed),
  );
}

/** A plain hash is enough to make a key, because the passphrase is random and long. */
async function aesKeyFrom(passphrase: string): Promise<CryptoKey> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(passphrase));
  return crypto.subtle.importKey('raw', hash, 'AES-GCM', false, ['encrypt', 'decrypt']);
}
