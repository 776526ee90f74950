/// <reference path="./pages/texts.d.ts" />
import { type Context, Hono } from 'hono';
import { etag } from 'hono/etag';
import { DatabaseError } from '../db/errors.ts';
import { errorFields } from '../shared/log.ts';
import { memoize } from '../shared/memoize.ts';
import { problem } from '../shared/problem.ts';
import type { Access } from '../shared/runtime.ts';
import { identityOf, isFromOurPages } from './access.ts';
import { createApi, type OpsDependencies, type OpsTypes } from './api.ts';
import { Metrics } from './metrics.ts';
import { html, Message } from './pages/layout.tsx';
import script from './pages/script.js' with { type: 'text' };
import style from './pages/style.css' with { type: 'text' };
import { createPages } from './pages.tsx';
import { createTenantsApi } from './tenants.ts';

/** Only our own scripts and styles, no frames, no forms to other sites, and no caching. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  // `no-referrer` would make browsers send `Origin: null` with our own forms.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-robots-tag': 'noindex, nofollow',
};

const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="4" fill="#0b57b7"/>' +
  '<path d="M4 8.5l2.5 2.5L12 5.5" fill="none" stroke="#fff" stroke-width="2"/></svg>';

const FILES = new Map([
  ['style.css', { type: 'text/css; charset=utf-8', text: style }],
  ['script.js', { type: 'text/javascript; charset=utf-8', text: script }],
  ['icon.svg', { type: 'image/svg+xml', text: ICON }],
]);

/** The pages, the API and the metrics, for operators only. The app's ops Worker mounts them at /ops. */
export function createOps(dependencies: OpsDependencies): Hono<OpsTypes> {
  const { now, log, name } = dependencies;
  const metrics = new Metrics();
  // Logged once per isolate, because strangers can send any number of requests.
  const logMistake = memoize((outcome: string) => log({ step: 'configuration', outcome }));
  const app = new Hono<OpsTypes>();

  app.use(async (c, next) => {
    await next();
    c.res = secure(c.res);
  });

  app.use(async (c, next) => {
    const identity = await identityOf(c.req.raw, c.env, (c.executionCtx as { readonly access?: Access }).access);
    if (identity.outcome === 'refused') {
      const { status, sentence, mistake } = identity;
      if (mistake !== undefined) logMistake(mistake);
      log({ step: 'operator', outcome: 'refused', reason: sentence });
      if (isForProgram(c)) return problem(status, 'Access denied', sentence, status === 401 ? BEARER : undefined);
      return c.text(sentence, status, status === 401 ? BASIC : undefined);
    }
    const isChange = c.req.method !== 'GET' && c.req.method !== 'HEAD';
    if (isChange && !isFromOurPages(c.req.raw, identity.by)) {
      log({ step: 'operator', outcome: 'refused', reason: 'the request comes from another site' });
      const text = 'Nothing was changed. A program must send a bearer token, or the header Origin with this address.';
      return answer(c, 403, 'This request does not come from the console', text);
    }
    c.set('operator', identity);
    return next();
  });

  app.route('/api', createApi(dependencies));
  app.route('/api/tenants', createTenantsApi(dependencies));
  app.get('/metrics', async (c) => {
    const isFresh = c.get('operator').isLocal || c.req.query('fresh') === '1';
    return c.body(await metrics.text(c.env, now(), isFresh), 200, { 'content-type': Metrics.contentType });
  });
  app.get('/files/:name', etag(), (c) => {
    const file = FILES.get(c.req.param('name'));
    if (file === undefined) return c.notFound();
    // A browser checks each time whether its copy is current, so the files need no version in their names.
    return c.body(file.text, 200, { 'content-type': file.type, 'cache-control': 'no-cache' });
  });
  app.route('/', createPages(dependencies));

  app.all('*', (c) => {
    if (c.req.path === '/ops/') return c.redirect('/ops');
    return answer(c, 404, 'Page not found', 'The address may be incomplete.');
  });
  app.onError((error, c) => {
    if (DatabaseError.isFromDatabase(error)) {
      const { message: reason, retryable } = DatabaseError.fromThrown(error);
      log({ step: 'operator', outcome: 'database_unavailable', reason });
      const title = retryable ? 'The database cannot be reached' : 'Postgres refused';
      return answer(c, 503, title, `${reason}. Deliveries are still accepted and kept on the queue.`);
    }
    log({ step: 'operator', outcome: 'error', ...errorFields(error) });
    return answer(c, 500, 'Error in the console', "The ops Worker's log says where it happened.");
  });

  /** Answers with an error: a page for a person, problem details for a program. */
  function answer(c: Context<OpsTypes>, status: number, title: string, text: string): Response {
    const headers = status === 503 ? { 'retry-after': '5' } : undefined;
    if (isForProgram(c)) return secure(problem(status, title, text, headers));
    const { pathname, search } = new URL(c.req.url);
    const tryAgain = status === 503 && c.req.method === 'GET' ? pathname + search : undefined;
    const page = (
      <Message now={now()} name={name} operator={c.get('operator')} title={title} text={text} tryAgain={tryAgain} />
    );
    return secure(html(page, status));
  }

  return app;
}

const BEARER = { 'www-authenticate': 'Bearer realm="ops"' };
/** Makes a browser ask for the name and the token, and send them with every later request. */
const BASIC = { 'www-authenticate': 'Basic realm="ops", charset="UTF-8"' };

function isForProgram(c: Context): boolean {
  return /^\/ops\/(api|metrics)\b/.test(c.req.path);
}

/** Adds the headers that the response doesn't have yet. */
function secure(response: Response): Response {
  const secured = new Response(response.body, response);
  for (const [name, value] of Object.entries(HEADERS)) {
    if (!secured.headers.has(name)) secured.headers.set(name, value);
  }
  return secured;
}
