// A secret that a provider hands over (Notion, Asana) must reach the operator, and no log may hold it. The operator and
// the Worker share one secret already, the one that is set while the real one is awaited: it seals what is shown.

/** Shorter than this could be guessed by who reads the log: `openssl rand -hex 32` makes 64 characters. */
export const MIN_PASSPHRASE = 32;

const IV_BYTES = 12;

export async function seal(secret: string, passphrase: string): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const sealed = await crypto.subtle.encrypt(
    { name: 'AES-GCM', iv },
    await keyOf(passphrase),
    new TextEncoder().encode(secret),
  );
  return btoa(String.fromCharCode(...iv, ...new Uint8Array(sealed)));
}

/** Throws where the passphrase is another, or the text is not what `seal` made. */
export async function unseal(text: string, passphrase: string): Promise<string> {
  const bytes = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const [iv, sealed] = [bytes.subarray(0, IV_BYTES), bytes.subarray(IV_BYTES)];
  return new TextDecoder().decode(
    await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, await keyOf(passphrase), sealed),
  );
}

/** A plain hash is enough to make a key, since the passphrase is random and not something to remember. */
async function keyOf(passphrase: string): Promise<CryptoKey> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(passphrase));
  return crypto.subtle.importKey('raw', hash, 'AES-GCM', false, ['encrypt', 'decrypt']);
}
