// Decides whether the console exists at all. The receiver asks this before it loads the rest of the console.

/** How an operator gets in. */
export type Access =
  /** Everything under /ops is 404. */
  | { readonly kind: 'off'; readonly mistake?: 'ops_token_too_short' | 'access_incomplete' | 'no_rate_limits' }
  /** A sign-in form for the pages, and the token as a bearer for the API. */
  | { readonly kind: 'token'; readonly token: string }
  /** Cloudflare Access in front of the path. The token, if there is one, is accepted by the API beside it. */
  | {
      readonly kind: 'cloudflare';
      readonly issuer: string;
      readonly audience: string;
      readonly token: string | undefined;
    }
  /** `npm run dev`: nobody has to sign in. */
  | { readonly kind: 'open' };

/** `openssl rand -hex 16` makes 32 characters. Nobody guesses these, also without a limit on attempts. */
export const MIN_TOKEN_LENGTH = 32;

/** A mistake in the configuration switches the console off, and never opens it. */
export function accessOf(env: object, request: Request): Access {
  const [token, team, audience] = ['OPS_TOKEN', 'ACCESS_TEAM_DOMAIN', 'ACCESS_AUD'].map((name) => textOf(env, name));
  if (token === undefined && team === undefined && audience === undefined) {
    return isLocalRun(env, request) ? { kind: 'open' } : { kind: 'off' };
  }
  if (token !== undefined && token.length < MIN_TOKEN_LENGTH) return { kind: 'off', mistake: 'ops_token_too_short' };
  // Without their limits, attempts to guess the token would not be limited.
  if (token !== undefined && (!Reflect.get(env, 'OPS_SIGN_INS') || !Reflect.get(env, 'OPS_REQUESTS'))) {
    return { kind: 'off', mistake: 'no_rate_limits' };
  }
  if (team !== undefined && audience !== undefined) {
    return { kind: 'cloudflare', issuer: `https://${team.replace(/^https:\/\/|\/+$/g, '')}`, audience, token };
  }
  if (team !== undefined || audience !== undefined) return { kind: 'off', mistake: 'access_incomplete' };
  return token === undefined ? { kind: 'off' } : { kind: 'token', token };
}

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];

/** Set by proxies and tunnels. A tunnel may rewrite the host to `localhost`, and then only these show it. */
const FORWARDING = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto'];

/**
 * Two independent conditions. A deployed Worker can't reach a database on loopback, and Cloudflare sends it no request
 * for the host `localhost`. The host also stops a page of another site whose name resolves to 127.0.0.1.
 */
function isLocalRun(env: object, request: Request): boolean {
  const isLoopback = (url: string | undefined) => LOOPBACK.includes(URL.parse(url ?? '')?.hostname ?? '');
  const forwarded = FORWARDING.some((name) => request.headers.has(name));
  return !forwarded && isLoopback(request.url) && isLoopback(textOf(env, 'DATABASE_URL'));
}

function textOf(env: object, name: string): string | undefined {
  const value: unknown = Reflect.get(env, name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}
