import { Hono } from 'hono';
import type { Source } from '../kit/index.ts';
import { eventIdFields, type Log, positionOf } from '../log.ts';
import { answer, problem } from './answer.ts';
import { methodsOf } from './handshake.ts';
import { receive } from './receive.ts';
import { secretName } from './secrets.ts';

export interface ReceiverDependencies {
  readonly sources: Readonly<Record<string, Source>>;
  readonly now: () => Date;
  readonly log: Log;
}

export function createReceiver({ sources, now, log }: ReceiverDependencies): Hono<{ Bindings: ReceiverEnv }> {
  const app = new Hono<{ Bindings: ReceiverEnv }>();
  const warned = new Set<string>();

  app.all('/webhooks/:source', async (c) => {
    const name = c.req.param('source');
    const source = Object.hasOwn(sources, name) ? sources[name] : undefined;
    if (source === undefined) return c.notFound();
    const methods = methodsOf(source.provider);
    if (!methods.includes(c.req.method)) {
      return problem(405, 'Deliveries are sent with POST', undefined, { allow: methods.join(', ') });
    }

    const started = now();
    const result = await receive(c.req.raw, name, source, c.env, started, log);
    if (result.outcome === 'no_usable_secret' && !warned.has(name)) {
      warned.add(name);
      log({ step: 'configuration', outcome: result.outcome, source: name, variable: secretName(name) });
    }
    log({
      step: 'delivery',
      source: name,
      ...('eventIds' in result ? eventIdFields(result.eventIds) : {}),
      outcome: result.outcome,
      reason: 'reason' in result ? result.reason : undefined,
      // Suspected replays are accepted, but they don't run until a person says so.
      parked: 'parked' in result && result.parked > 0 ? result.parked : undefined,
      forwarded: 'forwarded' in result ? result.forwarded : undefined,
      // For the operator alone: npm run unseal.
      sealed: 'sealed' in result ? result.sealed : undefined,
      ms: now().getTime() - started.getTime(),
    });
    return answer(result, source.provider.ack);
  });

  app.notFound(() => problem(404, 'There is no such source'));
  // Ours to mend, and never a reason for a sender to give the event up: a 5xx is sent again.
  app.onError((error, c) => {
    log({
      step: 'delivery',
      source: c.req.param('source') ?? null,
      outcome: 'error',
      reason: error.name,
      position: positionOf(error),
    });
    return answer({ outcome: 'not_held' });
  });
  return app;
}
