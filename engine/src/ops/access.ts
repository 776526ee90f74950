// Decides who may use the ops Worker: people admitted by Cloudflare Access, and anybody with OPS_TOKEN.
import { fromBase64 } from '../shared/bytes.ts';
import { isLoopback } from '../shared/loopback.ts';
import type { Access } from '../shared/runtime.ts';
import { settingOf } from '../shared/settings.ts';
import { cleanText } from '../shared/text.ts';
import { withTimeLimit } from '../shared/time-limit.ts';
import { sameText } from '../verify/algorithms.ts';

export type Identity =
  | {
      readonly outcome: 'known';
      /** Recorded with every action of this operator. */
      readonly who: string;
      /** Another site can make a browser send a request with a password or a cookie, but not with a bearer token. */
      readonly by: 'bearer' | 'browser';
      /** Whether this is a developer's machine, so that the metrics need no cache. */
      readonly isLocal: boolean;
    }
  | {
      readonly outcome: 'refused';
      readonly status: 401 | 403;
      /** Tells a person what is missing. */
      readonly sentence: string;
      /** A configuration mistake, for the log. */
      readonly mistake?: 'ops_token_too_short';
    };

/** The length of `openssl rand -hex 16`. Such a token can't be guessed, so attempts need no limit. */
const MIN_TOKEN_LENGTH = 32;

/**
 * The audience in `access.dev` of wrangler.ops.toml, which exists only on a developer's machine. Cloudflare's audiences
 * have 64 hex digits.
 */
const LOCAL_AUDIENCE = 'local';

/** After this time, the operator is admitted without a name. */
const IDENTITY_TIMEOUT_MS = 5000;

/**
 * Identifies the sender of a request. A configuration mistake refuses everybody. `access` is the request's
 * `ctx.access`.
 */
export async function identityOf(request: Request, env: object, access: Access | undefined): Promise<Identity> {
  const token = settingOf(env, 'OPS_TOKEN');
  if (token !== undefined && token.length < MIN_TOKEN_LENGTH) {
    const sentence = `OPS_TOKEN has fewer than ${MIN_TOKEN_LENGTH} characters. Make a new one with openssl rand -hex 32.`;
    return { ...refused(403, sentence), mistake: 'ops_token_too_short' };
  }
  const authorization = request.headers.get('authorization');
  if (token !== undefined && authorization !== null) return identifyByToken(request, authorization, token);
  // The identity of `wrangler dev` admits everybody who reaches its port, so a configured token takes precedence.
  if (access && !(access.aud === LOCAL_AUDIENCE && token !== undefined)) return identifyByAccess(request, env, access);
  if (token !== undefined) return refused(401, 'Send OPS_TOKEN as Authorization: Bearer, or as a password.');
  return refused(403, 'Nobody has access: switch on Cloudflare Access for this Worker, or set the secret OPS_TOKEN.');
}

async function identifyByToken(request: Request, authorization: string, token: string): Promise<Identity> {
  const [, scheme = '', credentials = ''] = /^(Bearer|Basic) +(\S+)$/i.exec(authorization) ?? [];
  const isBearer = scheme.toLowerCase() === 'bearer';
  const given = isBearer ? { name: actorOf(request), password: credentials } : basicOf(credentials);
  if (!(await sameText(given.password, token)))
    return refused(401, 'The token is wrong: it is not the value of OPS_TOKEN.');
  return { outcome: 'known', who: named('token', given.name), by: isBearer ? 'bearer' : 'browser', isLocal: false };
}

/** Reads the base64 of `name:password` (RFC 7617). The name says who acts, because everybody has the same token. */
function basicOf(credentials: string): { name: string; password: string } {
  const text = new TextDecoder().decode(fromBase64(credentials));
  const [, name = '', password = ''] = /^([^:]*):(.*)$/s.exec(text) ?? [];
  return { name, password };
}

/** The runtime has checked the sign-in and fills `ctx.access` itself, so headers have no influence. */
async function identifyByAccess(request: Request, env: object, access: Access): Promise<Identity> {
  const isLocal = access.aud === LOCAL_AUDIENCE;
  if (isLocal && !isOnThisMachine(request, env)) {
    const sentence =
      'The identity of wrangler dev is accepted only on localhost, with a local database and without a proxy or tunnel.';
    return refused(403, sentence);
  }
  const audience = isLocal ? undefined : settingOf(env, 'ACCESS_AUD');
  if (audience !== undefined && access.aud !== audience) {
    return refused(403, 'You are signed in to a different Cloudflare Access application from the one in ACCESS_AUD.');
  }
  // A service token has no e-mail address. If the details can't be loaded, the request is still admitted by Access.
  const details = access.getIdentity().catch(() => undefined);
  const identity = await withTimeLimit(IDENTITY_TIMEOUT_MS, details, () => undefined);
  const { email, common_name: serviceToken } = identity ?? {};
  const who = textIn(email) ?? named(textIn(serviceToken) ?? 'access', actorOf(request));
  return { outcome: 'known', who: cleanText(who, MAX_WHO_LENGTH), by: 'browser', isLocal };
}

/** Headers of proxies and tunnels. If a tunnel rewrites the host to `localhost`, only these headers reveal it. */
const FORWARDING = 'forwarded via x-real-ip cdn-loop x-forwarded-for x-forwarded-host x-forwarded-proto'.split(' ');

/**
 * Checking the host stops a page of another site whose name resolves to 127.0.0.1. It could forge the host with a
 * header of wrangler, which `npm run dev` refuses (engine/cli/dev/proxy.ts). A remote database may be the production
 * database.
 */
function isOnThisMachine(request: Request, env: object): boolean {
  const isForwarded = FORWARDING.some((name) => request.headers.has(name));
  const database = URL.parse(settingOf(env, 'DATABASE_URL') ?? '')?.hostname;
  return !isForwarded && isLoopback(new URL(request.url).hostname) && isLoopback(database);
}

/** The name that a command sends along with a shared token. */
function actorOf(request: Request): string {
  return request.headers.get('x-ops-actor') ?? '';
}

/** Longer than a name or an e-mail address usually is. */
const MAX_NAME_LENGTH = 80;
const MAX_WHO_LENGTH = 254;

function named(who: string, name: string): string {
  const clean = cleanText(name, MAX_NAME_LENGTH);
  return clean === '' ? who : `${who} (${clean})`;
}

const textIn = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);

function refused(status: 401 | 403, sentence: string) {
  return { outcome: 'refused', status, sentence } as const;
}

/**
 * Whether a change was sent by our own pages or by a program. Hono's `csrf` checks only the content types of forms and
 * accepts a request if either header is right. Here neither may be wrong, and one must be present unless the request
 * has a bearer token, which a browser never sends by itself.
 */
export function isFromOurPages(request: Request, by: 'bearer' | 'browser'): boolean {
  const site = request.headers.get('sec-fetch-site');
  const origin = request.headers.get('origin');
  if (site !== null && site !== 'same-origin') return false;
  if (origin !== null && origin !== new URL(request.url).origin) return false;
  return by === 'bearer' || site !== null || origin !== null;
}
