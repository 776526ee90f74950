import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { DatabaseError } from '../db/errors.ts';
import { errorFields } from '../log.ts';
import { problem } from '../problem.ts';
import { accessOf } from './access.ts';
import { type ApiTypes, createApi } from './api.ts';
import { assetAt } from './assets.ts';
import { CloudflareAccess } from './cloudflare-access.ts';
import type { ConsoleDependencies } from './dependencies.ts';
import { secure } from './headers.ts';
import { identifyProgram, identifyVisitor, isFromAnotherSite, sessionCookie } from './identify.ts';
import { Metrics } from './metrics.ts';
import { openApi } from './openapi.ts';
import { html } from './pages/html.ts';
import { Message } from './pages/message.tsx';
import { createPages, type PageTypes } from './pages.tsx';
import { CONTENT_TYPE } from './prometheus.ts';
import { signerFor, signIn, turnAway } from './visit.tsx';

type Types = ApiTypes & PageTypes & { Variables: Partial<PageTypes['Variables']> };

/** Everything under /ops: the pages, the API and the metrics. */
export function createConsole(dependencies: ConsoleDependencies): Hono<Types> {
  const { now, log } = dependencies;
  const cloudflare = new CloudflareAccess(dependencies.fetch);
  const metrics = new Metrics();
  const app = new Hono<Types>();

  app.use(async (c, next) => {
    await next();
    c.res = secure(c.res);
  });

  const admitProgram: MiddlewareHandler<Types> = async (c, next) => {
    const access = accessOf(c.env, c.req.raw);
    if (access.kind === 'off') return c.notFound();
    if (access.kind !== 'open' && access.token !== undefined) {
      const { success } = await c.env.OPS_REQUESTS.limit({ key: c.req.header('cf-connecting-ip') ?? '' });
      if (!success) return problem(429, 'Too many requests from this address', undefined, { 'retry-after': '60' });
    }
    const identified = await identifyProgram(c.req.raw, access, { cloudflare, now: now() });
    if (identified.outcome !== 'identified') {
      const challenge = { 'www-authenticate': 'Bearer realm="ops"' };
      return problem(401, 'The API needs the header Authorization: Bearer, with OPS_TOKEN', undefined, challenge);
    }
    c.set('who', identified.who);
    return next();
  };
  app.use('/ops/api/*', admitProgram);
  app.use('/ops/metrics', admitProgram);
  app.get('/ops/api/openapi.json', (c) => c.json(openApi));
  app.route('/ops/api', createApi(dependencies));
  app.all('/ops/api/*', (c) => c.notFound());

  app.get('/ops/metrics', async (c) => {
    const isLocal = accessOf(c.env, c.req.raw).kind === 'open';
    const text = await metrics.text(c.env, { now: now(), databaseUsedAt: dependencies.databaseUsedAt(), isLocal });
    return c.body(text, 200, { 'content-type': CONTENT_TYPE });
  });

  app.get('/ops/assets/*', (c) => assetAt(c.req.path) ?? c.notFound());
  app.post('/ops/sign-in', (c) => signIn(c.req.raw, c.env, accessOf(c.env, c.req.raw), dependencies));

  app.use('/ops/*', async (c, next) => {
    const access = accessOf(c.env, c.req.raw);
    if (access.kind === 'off') return c.notFound();
    const signer = signerFor(access, c.env);
    const visitor = await identifyVisitor(c.req.raw, access, { signer, cloudflare, now: now() });
    if (visitor.outcome !== 'identified') return turnAway(c.req.raw, access, now());
    const { who, sessionId } = visitor;
    if (c.req.method !== 'GET') {
      const token = new URLSearchParams(await c.req.text()).get('form_token') ?? '';
      if (isFromAnotherSite(c.req.raw) || !(await signer.isFormToken(token, sessionId))) {
        const text = 'This form is too old, or another site sent it. Nothing was changed. Load the page again.';
        return html(<Message now={now()} title="Not done" text={text} />, 403);
      }
    }
    const isLocal = access.kind === 'open';
    const formToken = await signer.formToken(sessionId);
    c.set('visitor', { who, formToken, canSignOut: access.kind === 'token', isLocal });
    return next();
  });
  app.post('/ops/sign-out', (c) => {
    c.header('set-cookie', sessionCookie('', 0));
    return c.redirect('/ops', 303);
  });
  // An old address, or the end of a session that was entered again.
  app.get('/ops/sign-in', (c) => c.redirect('/ops', 303));
  app.route('/ops', createPages(dependencies));

  app.notFound((c) =>
    answer(c, 404, 'There is nothing at this address', 'It may have been deleted, or the address is not complete.'),
  );
  app.onError((error, c) => {
    if (DatabaseError.isCauseOf(error)) {
      const { message: reason, retryable } = DatabaseError.from(error);
      log({ step: 'operator', outcome: 'database_unavailable', reason });
      const title = retryable ? 'Postgres can not be reached' : 'Postgres refused';
      return answer(c, 503, title, `${reason}. Deliveries are accepted all the same, and kept on the queue.`);
    }
    log({ step: 'operator', outcome: 'error', ...errorFields(error) });
    return answer(c, 500, 'This is a mistake in the console', 'The log of the receiver says where it happened.');
  });

  /** An error, as a page for a person and as problem details for a program. */
  function answer(c: Context<Types>, status: number, title: string, text: string): Response {
    const headers = status === 503 ? { 'retry-after': '5' } : undefined;
    if (/^\/ops\/(api|metrics)\b/.test(c.req.path)) return secure(problem(status, title, text, headers));
    const { pathname, search } = new URL(c.req.url);
    const tryAgain = status === 503 && c.req.method === 'GET' ? pathname + search : undefined;
    const page = <Message now={now()} visitor={c.get('visitor')} title={title} text={text} tryAgain={tryAgain} />;
    return secure(html(page, status));
  }

  return app;
}
