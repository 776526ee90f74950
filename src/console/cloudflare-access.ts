import { type Bytes, fromBase64Url } from '../encoding/bytes.ts';
import { sameText } from '../verify/algorithms.ts';

/** Cloudflare rotates its keys every six weeks and accepts old ones for a week. An hour is short beside both. */
const KEYS_LAST_MS = 3_600_000;

/** A token with an unknown key makes us load the keys again, but not more often than this: anybody can send such a token. */
const RELOAD_AFTER_MS = 60_000;

/** The issuer answers in milliseconds. An operator waits for it. */
const TIMEOUT_MS = 5000;

/** Clocks differ. Cloudflare's and the Worker's differ by much less. */
const LEEWAY_SECONDS = 30;

interface Keys {
  readonly loadedAt: number;
  readonly byId: ReadonlyMap<string, CryptoKey>;
}

/** Checks the token with which Cloudflare Access says who sent a request. Whatever can't be checked is refused. */
export class CloudflareAccess {
  readonly #fetch: typeof fetch;
  readonly #keys = new Map<string, Keys>();

  constructor(fetcher: typeof fetch) {
    this.#fetch = fetcher;
  }

  /** The e-mail of a person, or the name of a service token. Undefined if the token is not valid. */
  async whoOf(jwt: string, issuer: string, audience: string, now: Date): Promise<string | undefined> {
    const [head, claims, signature, ...more] = jwt.split('.');
    if (head === undefined || claims === undefined || signature === undefined || more.length > 0) return undefined;
    const { alg, kid } = jsonOf(head);
    // The algorithm is ours to choose, not the token's: `none` and HMAC with a public key are old attacks.
    if (alg !== 'RS256' || typeof kid !== 'string') return undefined;
    const key = await this.#keyOf(issuer, kid, now);
    const bytes = fromBase64Url(signature);
    if (key === undefined || bytes === undefined) return undefined;
    const signed = new TextEncoder().encode(`${head}.${claims}`);
    if (!(await crypto.subtle.verify('RSASSA-PKCS1-v1_5', key, bytes, signed))) return undefined;

    const { iss, aud, exp, nbf, email, common_name: serviceToken } = jsonOf(claims);
    const seconds = now.getTime() / 1000;
    const audiences = Array.isArray(aud) ? aud : [aud];
    const isForUs = await anyOf(audiences.map(async (one) => typeof one === 'string' && sameText(one, audience)));
    if (iss !== issuer || !isForUs) return undefined;
    if (typeof exp !== 'number' || exp <= seconds) return undefined;
    if (nbf !== undefined && (typeof nbf !== 'number' || nbf > seconds + LEEWAY_SECONDS)) return undefined;
    const who = email === undefined || email === '' ? serviceToken : email;
    return typeof who === 'string' && who !== '' ? who : undefined;
  }

  async #keyOf(issuer: string, kid: string, now: Date): Promise<CryptoKey | undefined> {
    const at = now.getTime();
    const loaded = this.#keys.get(issuer);
    const age = loaded ? at - loaded.loadedAt : Number.POSITIVE_INFINITY;
    const isUsable = loaded && age < KEYS_LAST_MS && (loaded.byId.has(kid) || age < RELOAD_AFTER_MS);
    if (isUsable) return loaded.byId.get(kid);
    const byId = await this.#load(issuer);
    this.#keys.set(issuer, { loadedAt: at, byId });
    return byId.get(kid);
  }

  /** Empty if the issuer can't be asked: then nobody gets in, until it can. */
  async #load(issuer: string): Promise<Map<string, CryptoKey>> {
    const keys = new Map<string, CryptoKey>();
    try {
      const signal = AbortSignal.timeout(TIMEOUT_MS);
      const response = await this.#fetch(`${issuer}/cdn-cgi/access/certs`, { signal });
      const { keys: listed } = (await response.json()) as { keys: (JsonWebKey & { kid: string })[] };
      const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
      for (const { kid, kty, n, e } of listed) {
        if (kty !== 'RSA' || n === undefined || e === undefined) continue;
        keys.set(kid, await crypto.subtle.importKey('jwk', { kty, n, e }, algorithm, false, ['verify']));
      }
      return keys;
    } catch {
      return keys;
    }
  }
}

async function anyOf(checks: readonly Promise<boolean>[]): Promise<boolean> {
  return (await Promise.all(checks)).includes(true);
}

/** An empty object if it is not the JSON of an object. */
function jsonOf(text: string): Record<string, unknown> {
  const bytes: Bytes | undefined = fromBase64Url(text);
  try {
    const json: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
