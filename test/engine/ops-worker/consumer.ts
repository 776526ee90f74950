// The consumer of the browser tests. Its handler fails as long as the stand-in for the outside knows no rate.
import * as v from 'valibot';
import { createConsumer } from '../../../src/consumer/consumer.ts';
import { defineEffect, defineEffects, defineHandler, defineHandlers, PermanentError } from '../../../src/kit/index.ts';
import { log } from '../../../src/shared/log.ts';
import { sources } from '../fixture/sources.ts';

const urlOf = (env: object) => String(Reflect.get(env, 'RATES_URL'));

const { effects, effect } = defineEffects({
  receipt: defineEffect<{ customer: string }>({
    send: (payload, { key, env, fetch, signal }) =>
      fetch(`${urlOf(env)}/receipts`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(payload),
        signal,
      }),
  }),
});

const charged = defineHandler({
  schema: v.object({ data: v.object({ object: v.object({ customer: v.string(), amount: v.number() }) }) }),
  async handle({ data }, { fetch, env }) {
    const response = await fetch(`${urlOf(env)}/rates/eur`);
    if (!response.ok)
      throw new PermanentError(`no exchange rate for EUR: the rate service answered ${response.status}`);
    return [effect('receipt', { customer: data.data.object.customer })];
  },
});

export default createConsumer({
  handlers: defineHandlers(sources, { stripe: { 'charge.succeeded': charged } }),
  sources,
  effects,
  now: () => new Date(),
  random: Math.random,
  log,
  handlerMs: 30_000,
  effectMs: 10_000,
});
