export type Bytes = Uint8Array<ArrayBuffer>;

/** Concatenates texts (as UTF-8) and bytes. */
export function concat(parts: readonly (string | Uint8Array)[]): Bytes {
  const pieces = parts.map((part) => (typeof part === 'string' ? new TextEncoder().encode(part) : part));
  const bytes = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let offset = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    offset += piece.length;
  }
  return bytes;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export function toHex(bytes: ArrayBuffer | Bytes): string {
  let text = '';
  for (const byte of new Uint8Array(bytes)) text += HEX[byte];
  return text;
}

/** Expects pairs of hex digits. */
export function fromHex(text: string): Bytes {
  const bytes = new Uint8Array(text.length / 2);
  for (let n = 0; n < bytes.length; n++) bytes[n] = 16 * digitAt(text, 2 * n) + digitAt(text, 2 * n + 1);
  return bytes;
}

/** Setting bit 0x20 converts a letter to lower case. */
function digitAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code <= 0x39 /* 9 */ ? code - 0x30 : (code | 0x20) - 0x57;
}

/** Decodes as leniently as `atob`, so several texts may give the same bytes. `undefined` if the text is not base64. */
export function fromBase64(text: string): Bytes | undefined {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}

export async function sha256(bytes: Uint8Array): Promise<string> {
  // The cast only excludes shared memory, which a body never uses.
  return toHex(await crypto.subtle.digest('SHA-256', bytes as Bytes));
}

/** RFC 4648, section 5, without padding. */
export function toBase64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (char) => ({ '+': '-', '/': '_' })[char] ?? '');
}

/** `undefined` if the text is not base64url. */
export function fromBase64Url(text: string): Bytes | undefined {
  return /^[\w-]*$/.test(text) ? fromBase64(text.replaceAll('-', '+').replaceAll('_', '/')) : undefined;
}
