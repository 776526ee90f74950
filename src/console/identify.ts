import { toBase64Url } from '../encoding/bytes.ts';
import { sameText } from '../verify/algorithms.ts';
import type { Access } from './access.ts';
import type { CloudflareAccess } from './cloudflare-access.ts';
import type { Session, Signer } from './session.ts';

/** Who sent a request to the console. */
export type Identified =
  | { readonly outcome: 'identified'; readonly who: string; readonly sessionId: string }
  /** Without anything that says who it is. */
  | { readonly outcome: 'anonymous' }
  /** With something that is wrong or has expired. */
  | { readonly outcome: 'refused' };

export type Configured = Exclude<Access, { kind: 'off' }>;

/** Who is recorded for what is done in `npm run dev`. */
const LOCAL = 'local';

/** `__Host-`: browsers accept such a cookie only with Secure, for this host alone. No other subdomain can plant one. */
export const COOKIE = '__Host-ops';

/** A person in front of a page. */
export async function identifyVisitor(
  request: Request,
  access: Configured,
  { signer, cloudflare, now }: { signer: Signer; cloudflare: CloudflareAccess; now: Date },
): Promise<Identified> {
  switch (access.kind) {
    case 'open':
      return { outcome: 'identified', who: LOCAL, sessionId: LOCAL };
    case 'cloudflare':
      return identifyByCloudflare(request, access, cloudflare, now);
    case 'token': {
      const cookie = cookieOf(request);
      if (cookie === undefined) return { outcome: 'anonymous' };
      const session = await signer.readSession(cookie, now);
      return session ? { outcome: 'identified', who: session.who, sessionId: session.id } : { outcome: 'refused' };
    }
  }
}

/** A program. It never gets in by a cookie, so no page of another site can use an operator's browser for it. */
export async function identifyProgram(
  request: Request,
  access: Configured,
  { cloudflare, now }: { cloudflare: CloudflareAccess; now: Date },
): Promise<Identified> {
  if (access.kind === 'open') return { outcome: 'identified', who: withActor(LOCAL, request), sessionId: LOCAL };
  const authorization = request.headers.get('authorization');
  if (access.kind === 'cloudflare' && (authorization === null || access.token === undefined)) {
    return identifyByCloudflare(request, access, cloudflare, now);
  }
  if (authorization === null || access.token === undefined) return { outcome: 'anonymous' };
  const bearer = /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? '';
  if (!(await sameText(bearer, access.token))) return { outcome: 'refused' };
  return { outcome: 'identified', who: withActor('token', request), sessionId: 'token' };
}

async function identifyByCloudflare(
  request: Request,
  { issuer, audience }: Extract<Access, { kind: 'cloudflare' }>,
  cloudflare: CloudflareAccess,
  now: Date,
): Promise<Identified> {
  const jwt = request.headers.get('cf-access-jwt-assertion');
  if (jwt === null) return { outcome: 'anonymous' };
  const who = await cloudflare.whoOf(jwt, issuer, audience, now);
  return who === undefined ? { outcome: 'refused' } : { outcome: 'identified', who, sessionId: who };
}

/** The name that a command or a form adds to the token, because everybody has the same token. */
function withActor(who: string, request: Request): string {
  return named(who, request.headers.get('x-ops-actor') ?? '');
}

export function named(who: string, name: string): string {
  const clean = cleanText(name, MAX_NAME_LENGTH);
  return clean === '' ? who : `${who} (${clean})`;
}

/** Longer than a name or an e-mail address usually is. */
const MAX_NAME_LENGTH = 80;

/** One line without control and formatting characters: what an operator wrote must not disturb where it is shown. */
export function cleanText(text: string, maxLength: number): string {
  return text
    .toWellFormed()
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, maxLength)
    .toWellFormed();
}

/** The value of our cookie. */
function cookieOf(request: Request): string | undefined {
  const cookies = (request.headers.get('cookie') ?? '').split(/; */);
  return cookies.find((cookie) => cookie.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1);
}

export function sessionCookie(value: string, maxAgeMs: number): string {
  return `${COOKIE}=${value}; Path=/; Max-Age=${maxAgeMs / 1000}; HttpOnly; Secure; SameSite=Strict`;
}

export function newSession(who: string, expires: number): Session {
  return { who, id: toBase64Url(crypto.getRandomValues(new Uint8Array(SESSION_ID_BYTES))), expires };
}

/** As many as nobody guesses. */
const SESSION_ID_BYTES = 16;

/**
 * Whether a page of another site sent this request. Browsers say so in Sec-Fetch-Site, and older ones in Origin.
 * Programs send neither.
 */
export function isFromAnotherSite(request: Request): boolean {
  const site = request.headers.get('sec-fetch-site');
  const origin = request.headers.get('origin');
  const isOther = site !== null && site !== 'same-origin';
  return isOther || (origin !== null && origin !== new URL(request.url).origin);
}
