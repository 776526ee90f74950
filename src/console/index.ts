import { Hono } from 'hono';
import { DatabaseError } from '../db/errors.ts';
import { errorFields } from '../log.ts';
import { problem } from '../problem.ts';
import { accessOf } from './access.ts';
import { type ApiTypes, createApi } from './api.ts';
import { CloudflareAccess } from './cloudflare-access.ts';
import type { ConsoleDependencies } from './dependencies.ts';
import { secure } from './headers.ts';
import { identifyProgram } from './identify.ts';
import { openApi } from './openapi.ts';

/** Everything under /ops: the pages, the API and the metrics. */
export function createConsole(dependencies: ConsoleDependencies): Hono<ApiTypes> {
  const { now, log } = dependencies;
  const cloudflare = new CloudflareAccess(dependencies.fetch);
  const app = new Hono<ApiTypes>();

  app.use(async (c, next) => {
    await next();
    c.res = secure(c.res);
  });

  app.use('/ops/api/*', async (c, next) => {
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
  });
  app.get('/ops/api/openapi.json', (c) => c.json(openApi));
  app.route('/ops/api', createApi(dependencies));

  app.notFound(() => problem(404, 'There is nothing at this address'));
  app.onError((error) => {
    if (DatabaseError.isCauseOf(error)) {
      const { message: reason, retryable } = DatabaseError.from(error);
      log({ step: 'operator', outcome: 'database_unavailable', reason });
      const title = retryable ? 'Postgres could not be reached' : 'Postgres refused';
      return secure(problem(503, title, reason, { 'retry-after': '5' }));
    }
    log({ step: 'operator', outcome: 'error', ...errorFields(error) });
    return secure(problem(500, 'This is a mistake in the console'));
  });
  return app;
}
