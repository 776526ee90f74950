import { fromBase64Url, toBase64Url } from '../encoding/bytes.ts';

/** What a signed cookie says. */
export interface Session {
  /** Recorded with everything that this operator does. */
  readonly who: string;
  /** Tells two sessions apart, so that the form of one is not valid in another. */
  readonly id: string;
  readonly expires: number;
}

/** A working day with some room. Afterwards the operator signs in again. */
export const SESSION_MS = 12 * 3_600_000;

/** Signs what we give a browser and want back unchanged: sessions, and the tokens in forms. */
export class Signer {
  readonly #key: Promise<CryptoKey>;

  /** The key is derived from the secret, so that nothing but this console signs with it. */
  constructor(secret: string) {
    this.#key = deriveKey(secret);
  }

  async signSession(session: Session): Promise<string> {
    const payload = toBase64Url(utf8(JSON.stringify(session)));
    return `${payload}.${await this.#sign(`session ${payload}`)}`;
  }

  /** Undefined if it was not signed by us, or has expired. */
  async readSession(cookie: string, now: Date): Promise<Session | undefined> {
    const [payload = '', signature = ''] = cookie.split('.');
    if (!(await this.#isSigned(`session ${payload}`, signature))) return undefined;
    const session = JSON.parse(new TextDecoder().decode(fromBase64Url(payload))) as Session;
    return session.expires > now.getTime() ? session : undefined;
  }

  /** The token of every form of a session. Another site can't read it, so it can't send the form. */
  formToken(sessionId: string): Promise<string> {
    return this.#sign(`form ${sessionId}`);
  }

  isFormToken(token: string, sessionId: string): Promise<boolean> {
    return this.#isSigned(`form ${sessionId}`, token);
  }

  async #sign(text: string): Promise<string> {
    return toBase64Url(new Uint8Array(await crypto.subtle.sign('HMAC', await this.#key, utf8(text))));
  }

  /** WebCrypto compares in constant time. */
  async #isSigned(text: string, signature: string): Promise<boolean> {
    const bytes = fromBase64Url(signature);
    return bytes !== undefined && crypto.subtle.verify('HMAC', await this.#key, bytes, utf8(text));
  }
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

async function deriveKey(secret: string): Promise<CryptoKey> {
  const from = await crypto.subtle.importKey('raw', utf8(secret), 'HKDF', false, ['deriveKey']);
  const how = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: utf8('claimcheck console') };
  return crypto.subtle.deriveKey(how, from, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
}
