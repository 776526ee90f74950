import { Hono } from 'hono';
import { traceFields } from '../encoding/traceparent.ts';
import type { Source } from '../kit/index.ts';
import { errorFields, type Log } from '../log.ts';
import { answer, fieldsOf, problem } from './answer.ts';
import { BODY_DEADLINE_MS, BodyBudget } from './body.ts';
import { methodsOf } from './handshake.ts';
import { receive } from './receive.ts';
import { secretName } from './secrets.ts';

export interface ReceiverDependencies {
  readonly sources: Readonly<Record<string, Source>>;
  readonly now: () => Date;
  readonly log: Log;
  /** How long the body of a delivery may take. Tests set it, so that they need not wait. */
  readonly bodyDeadlineMs?: number;
}

export function createReceiver({
  sources,
  now,
  log,
  bodyDeadlineMs = BODY_DEADLINE_MS,
}: ReceiverDependencies): Hono<{ Bindings: ReceiverEnv }> {
  const app = new Hono<{ Bindings: ReceiverEnv }>();
  const budget = new BodyBudget();
  const warned = new Set<string>();

  app.all('/webhooks/:source', async (c) => {
    const name = c.req.param('source');
    const started = now();
    const ms = () => now().getTime() - started.getTime();
    const trace = traceFields(c.req.header('traceparent'));
    try {
      const source = Object.hasOwn(sources, name) ? sources[name] : undefined;
      if (source === undefined) return c.notFound();
      const methods = methodsOf(source.provider);
      if (!methods.includes(c.req.method)) {
        return problem(405, 'Deliveries are sent with POST', undefined, { allow: methods.join(', ') });
      }

      const result = await receive(c.req.raw, name, source, c.env, { now, log, budget, bodyDeadlineMs });
      if (result.outcome === 'no_usable_secret' && !warned.has(name)) {
        warned.add(name);
        log({ step: 'configuration', outcome: result.outcome, source: name, variable: secretName(name) });
      }
      const response = answer(result, source.provider.ack);
      log({ step: 'delivery', source: name, ...fieldsOf(result), ...trace, ms: ms() });
      return response;
    } catch (error) {
      // A mistake in our code must not make a sender give its event up: after a 503 it sends the event again.
      log({ step: 'delivery', source: name, outcome: 'error', ...errorFields(error), ...trace, ms: ms() });
      return answer({ outcome: 'error' });
    }
  });

  app.notFound(() => problem(404, 'There is no such source'));
  return app;
}
