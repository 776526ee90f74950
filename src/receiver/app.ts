import { type Context, Hono } from 'hono';
import { accessOf } from '../console/access.ts';
import type { ConsoleDependencies } from '../console/dependencies.ts';
import { openDatabase } from '../db/client.ts';
import { addDeliveries } from '../db/deliveries.ts';
import { traceFields } from '../encoding/traceparent.ts';
import type { Source } from '../kit/index.ts';
import { errorFields, type Log } from '../log.ts';
import { problem } from '../problem.ts';
import { answer, fieldsOf } from './answer.ts';
import { BodyBudget } from './body.ts';
import { CLAIM_TIMEOUT_MS } from './claim-or-forward.ts';
import { DeliveryCounts } from './counts.ts';
import { methodsOf } from './handshake.ts';
import { OverdueTickets } from './overdue.ts';
import { type Accepted, type DeliveryOutcome, receive } from './receive.ts';
import { secretName } from './secrets.ts';

export interface ReceiverDependencies {
  readonly sources: Readonly<Record<string, Source>>;
  readonly now: () => Date;
  readonly log: Log;
  /** How long Postgres may take for a claim. Tests set it, so that a slow machine doesn't decide what they see. */
  readonly claimTimeoutMs?: number;
  /** The operator's console. Without it, everything under /ops is 404, and the bundle doesn't contain it. */
  readonly createConsole?: (dependencies: ConsoleDependencies) => Console;
}

interface Console {
  readonly fetch: (request: Request, env: ReceiverEnv) => Response | Promise<Response>;
}

export function createReceiver({
  sources,
  now,
  log,
  claimTimeoutMs = CLAIM_TIMEOUT_MS,
  createConsole,
}: ReceiverDependencies): Hono<{ Bindings: ReceiverEnv }> {
  const app = new Hono<{ Bindings: ReceiverEnv }>();
  const budget = new BodyBudget();
  const warned = new Set<string>();
  const counts = new DeliveryCounts();
  const overdue = new OverdueTickets();
  let databaseUsedAt: Date | undefined;
  let operatorConsole: Console | undefined;

  const answerDelivery = async (c: Context<{ Bindings: ReceiverEnv }>, name: string): Promise<Response> => {
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

      const dependencies = { now, log, budget, claimTimeoutMs };
      const result = await receive(c.req.raw, name, source, c.env, dependencies);
      if (result.outcome === 'no_usable_secret' && !warned.has(name)) {
        warned.add(name);
        log({ step: 'configuration', outcome: result.outcome, source: name, variable: secretName(name) });
      }
      if (createConsole && accessOf(c.env, c.req.raw).kind !== 'off') counts.add(name, result.outcome, now());
      if (hasUsedDatabase(result)) databaseUsedAt = now();
      if (hasUsedDatabase(result) && counts.isTime(now())) {
        keepAlive(c, () => counts.flush(now(), (some) => addDeliveries(openDatabase(c.env.DATABASE_URL), some)));
      }
      if (hasDuplicates(result) && overdue.isTime(now())) {
        keepAlive(c, () => overdue.send(c.env, name, result.eventIds, now()));
      }
      const response = answer(result, source.provider.ack);
      log({ step: 'delivery', source: name, ...fieldsOf(result), ...trace, ms: ms() });
      return response;
    } catch (error) {
      // A mistake in our code must not make a sender give its event up: after a 503 it sends the event again.
      log({ step: 'delivery', source: name, outcome: 'error', ...errorFields(error), ...trace, ms: ms() });
      return answer({ outcome: 'error' });
    }
  };

  app.all('/webhooks/:source', (c) => {
    const answering = answerDelivery(c, c.req.param('source'));
    // Otherwise workerd ends a delivery whose sender resets the connection, without its `finally`: the budget would count
    // its bytes for ever, and an event that is claimed already would get no ticket.
    keepAlive(c, () => answering);
    return answering;
  });

  app.all('/ops/*', async (c) => {
    const access = accessOf(c.env, c.req.raw);
    if (createConsole === undefined || access.kind === 'off') {
      const mistake = access.kind === 'off' ? access.mistake : undefined;
      if (mistake && !warned.has(mistake)) log({ step: 'configuration', outcome: mistake });
      if (mistake) warned.add(mistake);
      return c.notFound();
    }
    operatorConsole ??= createConsole({
      sources,
      now,
      log,
      databaseUsedAt: () => databaseUsedAt,
      fetch: (...call) => fetch(...call),
    });
    return operatorConsole.fetch(c.req.raw, c.env);
  });

  app.notFound(() => problem(404, 'There is no such source'));
  return app;
}

function hasUsedDatabase(result: DeliveryOutcome): boolean {
  const isAccepted = result.outcome === 'accepted' || result.outcome === 'duplicate';
  return isAccepted && result.eventIds.length > 0 && !result.forwarded;
}

function hasDuplicates(result: DeliveryOutcome): result is Accepted {
  return (result.outcome === 'accepted' || result.outcome === 'duplicate') && result.duplicate > 0;
}

/**
 * Lets work go on after the answer, or after the sender has reset the connection. Without a context, as in tests that run
 * in Node, `work` is not called.
 */
function keepAlive(c: Context, work: () => Promise<unknown>): void {
  try {
    c.executionCtx.waitUntil(work());
  } catch {}
}
