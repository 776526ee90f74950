// Lets an operator in to the pages, by one of the ways that are configured.
import { sameText } from '../verify/algorithms.ts';
import type { Access } from './access.ts';
import type { ConsoleDependencies } from './dependencies.ts';
import { type Configured, isFromAnotherSite, named, newSession, sessionCookie } from './identify.ts';
import { html } from './pages/html.ts';
import { Message } from './pages/message.tsx';
import { FollowAgain, SignIn } from './pages/sign-in.tsx';
import { SESSION_MS, Signer } from './session.ts';

/** Signers by their secret: deriving a key takes time, and the secret doesn't change while an isolate lives. */
const signers = new Map<string, Signer>();

/** Without OPS_TOKEN there are no sessions, but forms are signed all the same. DATABASE_URL is a secret too. */
export function signerFor(access: Configured, env: ReceiverEnv): Signer {
  const secret = access.kind === 'token' ? access.token : env.DATABASE_URL;
  const signer = signers.get(secret) ?? new Signer(secret);
  signers.set(secret, signer);
  return signer;
}

/** The answer to somebody who is not signed in. */
export function turnAway(request: Request, access: Configured, now: Date): Response {
  if (access.kind !== 'token') {
    const text =
      'Cloudflare Access has not confirmed who you are. Sign in there, or check ACCESS_TEAM_DOMAIN and ACCESS_AUD.';
    return html(<Message now={now} title="Not signed in" text={text} />, 403);
  }
  const { pathname, search } = new URL(request.url);
  const next = pathname + search;
  if (request.method !== 'GET') {
    const text = 'Your session has ended, and nothing was changed. Sign in again.';
    return html(<SignIn now={now} next="/ops" refused={text} />, 401);
  }
  // A session is not sent along with a link from another site.
  if (request.headers.get('sec-fetch-site') === 'cross-site') return html(<FollowAgain address={next} />, 200);
  return html(<SignIn now={now} next={next} />, 401);
}

/** Room for the longest token, name and address. */
const MAX_FORM_BYTES = 16_384;

/** Checks the token of the form, and begins a session. */
export async function signIn(
  request: Request,
  env: ReceiverEnv,
  access: Access,
  { now: clock, log }: ConsoleDependencies,
): Promise<Response> {
  if (access.kind !== 'token') return redirect('/ops');
  const now = clock();
  let next = '/ops';
  const refuse = (status: number, outcome: string, refused: string) => {
    log({ step: 'operator', outcome });
    return html(<SignIn now={now} next={next} refused={refused} />, status);
  };
  if (isFromAnotherSite(request)) return refuse(403, 'sign_in_refused', 'Another site sent this form. Try again here.');
  const { success } = await env.OPS_SIGN_INS.limit({ key: request.headers.get('cf-connecting-ip') ?? '' });
  if (!success) return refuse(429, 'too_many_sign_ins', 'Too many attempts from this address. Wait a minute.');
  // Nobody has signed in yet, so nobody may make us hold a large body. Browsers always send the length of a form.
  const length = Number(request.headers.get('content-length') ?? Number.POSITIVE_INFINITY);
  if (!(length <= MAX_FORM_BYTES)) return refuse(413, 'sign_in_refused', 'This form is too large.');
  const form = new URLSearchParams(await request.text());
  next = safeNext(form.get('next'));
  if (!(await sameText(form.get('token')?.trim() ?? '', access.token))) {
    return refuse(401, 'sign_in_refused', 'This is not the token. It is the value of OPS_TOKEN.');
  }
  const session = newSession(named('token', form.get('name') ?? ''), now.getTime() + SESSION_MS);
  log({ step: 'operator', outcome: 'signed_in' });
  return redirect(next, sessionCookie(await signerFor(access, env).signSession(session), SESSION_MS));
}

function redirect(location: string, cookie?: string): Response {
  return new Response(null, { status: 303, headers: { location, ...(cookie ? { 'set-cookie': cookie } : {}) } });
}

/** Only an address of the console: a sign-in must not lead to another site. */
function safeNext(next: string | null): string {
  return next !== null && /^\/ops(?:$|[/?])/.test(next) ? next : '/ops';
}
