// Who may use the ops Worker: whom Cloudflare Access has let in, and whoever has OPS_TOKEN.
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
      /** Kept with everything that this operator does. */
      readonly who: string;
      /** Another site can make a browser send a request with a password or a cookie, but never with a bearer. */
      readonly by: 'bearer' | 'browser';
      /** On the machine of a developer, where nothing has to be spared. */
      readonly isLocal: boolean;
    }
  | {
      readonly outcome: 'refused';
      readonly status: 401 | 403;
      /** What is missing, for a person. */
      readonly sentence: string;
      /** A mistake in the configuration, for the log. */
      readonly mistake?: 'ops_token_too_short';
    };

/** `openssl rand -hex 16` makes 32 characters. Nobody guesses these, so attempts need no limit. */
const MIN_TOKEN_LENGTH = 32;

/** Of `access.dev` in wrangler.ops.toml, so only on the machine of a developer. Cloudflare's own are 64 hex digits. */
const LOCAL_AUDIENCE = 'local';

/** After this time, the operator is let in without a name. */
const IDENTITY_TIMEOUT_MS = 5000;

/** A mistake in the configuration lets nobody in. `access` is the `ctx.access` of the request. */
export async function identityOf(request: Request, env: object, access: Access | undefined): Promise<Identity> {
  const token = settingOf(env, 'OPS_TOKEN');
  if (token !== undefined && token.length < MIN_TOKEN_LENGTH) {
    const sentence = `OPS_TOKEN has fewer than ${MIN_TOKEN_LENGTH} characters: openssl rand -hex 32 makes a long one.`;
    return { ...refused(403, sentence), mistake: 'ops_token_too_short' };
  }
  const authorization = request.headers.get('authorization');
  if (token !== undefined && authorization !== null) return identifyByToken(request, authorization, token);
  // The identity of `wrangler dev` lets in everybody who reaches its port, so a token takes its place.
  if (access && !(access.aud === LOCAL_AUDIENCE && token !== undefined)) return identifyByAccess(request, env, access);
  if (token !== undefined) return refused(401, 'Send OPS_TOKEN as Authorization: Bearer, or as a password.');
  return refused(403, 'Nobody is let in: switch on Cloudflare Access for this Worker, or set the secret OPS_TOKEN.');
}

async function identifyByToken(request: Request, authorization: string, token: string): Promise<Identity> {
  const [, scheme = '', credentials = ''] = /^(Bearer|Basic) +(\S+)$/i.exec(authorization) ?? [];
  const isBearer = scheme.toLowerCase() === 'bearer';
  const given = isBearer ? { name: actorOf(request), password: credentials } : basicOf(credentials);
  if (!(await sameText(given.password, token))) return refused(401, 'This is not the value of OPS_TOKEN.');
  return { outcome: 'known', who: named('token', given.name), by: isBearer ? 'bearer' : 'browser', isLocal: false };
}

/** RFC 7617: the base64 of `name:password`. The name says who acts, because everybody has the same token. */
function basicOf(credentials: string): { name: string; password: string } {
  const text = new TextDecoder().decode(fromBase64(credentials));
  const [, name = '', password = ''] = /^([^:]*):(.*)$/s.exec(text) ?? [];
  return { name, password };
}

/** The runtime has checked the sign-in. It fills `ctx.access` itself, so no header can say anything here. */
async function identifyByAccess(request: Request, env: object, access: Access): Promise<Identity> {
  const isLocal = access.aud === LOCAL_AUDIENCE;
  if (isLocal && !isOnThisMachine(request, env)) {
    const sentence =
      'The identity of wrangler dev counts only at localhost with a local database, without a proxy or a tunnel.';
    return refused(403, sentence);
  }
  const audience = isLocal ? undefined : settingOf(env, 'ACCESS_AUD');
  if (audience !== undefined && access.aud !== audience) {
    return refused(403, 'You are signed in to another application of Cloudflare Access than ACCESS_AUD names.');
  }
  // A service token has no e-mail. That the details can't be loaded doesn't change that Access has let this request in.
  const details = access.getIdentity().catch(() => undefined);
  const identity = await withTimeLimit(IDENTITY_TIMEOUT_MS, details, () => undefined);
  const { email, common_name: serviceToken } = identity ?? {};
  const who = textIn(email) ?? named(textIn(serviceToken) ?? 'access', actorOf(request));
  return { outcome: 'known', who: cleanText(who, MAX_WHO_LENGTH), by: 'browser', isLocal };
}

/** Set by proxies and tunnels. A tunnel may rewrite the host to `localhost`, and then only these show it. */
const FORWARDING = 'forwarded via x-real-ip cdn-loop x-forwarded-for x-forwarded-host x-forwarded-proto'.split(' ');

/**
 * The host stops a page of another site whose name resolves to 127.0.0.1, unless it knows wrangler's header for another host:
 * `npm run dev` refuses that before (engine/cli/dev/proxy.ts). A database elsewhere may be that of production.
 */
function isOnThisMachine(request: Request, env: object): boolean {
  const isForwarded = FORWARDING.some((name) => request.headers.has(name));
  const database = URL.parse(settingOf(env, 'DATABASE_URL') ?? '')?.hostname;
  return !isForwarded && isLoopback(new URL(request.url).hostname) && isLoopback(database);
}

/** The name that a command adds to a token that many people have. */
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
 * Whether our own pages, or a program, sent a change. Hono's `csrf` checks only the content types of forms, and lets a
 * request through if either header is right. Here neither may be wrong, and one of them must be there, unless a bearer
 * shows that no browser sent the request on its own.
 */
export function isFromOurPages(request: Request, by: 'bearer' | 'browser'): boolean {
  const site = request.headers.get('sec-fetch-site');
  const origin = request.headers.get('origin');
  if (site !== null && site !== 'same-origin') return false;
  if (origin !== null && origin !== new URL(request.url).origin) return false;
  return by === 'bearer' || site !== null || origin !== null;
}
