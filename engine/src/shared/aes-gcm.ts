const IV_BYTES = 12;

/** Encrypts a text. Who decrypts it must give the same `about`, so that it can't be moved to where it means something else. */
export async function encrypt(key: CryptoKey, text: string, about = ''): Promise<string> {
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const utf8 = new TextEncoder();
  const algorithm = { name: 'AES-GCM', iv, additionalData: utf8.encode(about) };
  const encrypted = await crypto.subtle.encrypt(algorithm, key, utf8.encode(text));
  return btoa(String.fromCharCode(...iv, ...new Uint8Array(encrypted)));
}

/** Throws if the key or `about` is wrong, or the text was not made by `encrypt`. */
export async function decrypt(key: CryptoKey, encrypted: string, about = ''): Promise<string> {
  const bytes = Uint8Array.from(atob(encrypted), (char) => char.charCodeAt(0));
  const iv = bytes.subarray(0, IV_BYTES);
  const algorithm = { name: 'AES-GCM', iv, additionalData: new TextEncoder().encode(about) };
  return new TextDecoder().decode(await crypto.subtle.decrypt(algorithm, key, bytes.subarray(IV_BYTES)));
}
