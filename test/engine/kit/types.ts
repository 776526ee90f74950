// What must not compile. Nothing here runs: `npm run check` compiles it, and an error that is missing is an error.
import * as v from 'valibot';
import { defineEffect, defineEffects, defineHandler, defineHandlers, defineSources } from '../../../src/kit/index.ts';
import { stripe } from '../../../src/providers/stripe.ts';

const sources = defineSources({ stripe: { provider: stripe, types: ['charge.succeeded'] } });
const handler = defineHandler({ handle: () => [] });

defineHandlers(sources, { stripe: { 'charge.succeeded': handler } });
// @ts-expect-error a source that is not configured
defineHandlers(sources, { strip: { 'charge.succeeded': handler } });
// @ts-expect-error a type that the source did not subscribe to
defineHandlers(sources, { stripe: { 'charge.suceeded': handler } });
// @ts-expect-error a provider that is none
defineSources({ stripe: { provider: 'stripe', types: [] } });
// @ts-expect-error a source without its types
defineSources({ stripe: { provider: stripe } });

defineHandler({
  schema: v.object({ id: v.string() }),
  handle({ data }) {
    data.id satisfies string;
    // @ts-expect-error the schema does not let this through
    data.amount;
    return [];
  },
});
defineHandler({
  handle({ data }) {
    // @ts-expect-error without a schema nothing is known of the payload
    data.id;
    return [];
  },
});
// @ts-expect-error a change is a statement or an effect
defineHandler({ handle: () => ['update things'] });

const { effect } = defineEffects({
  letter: defineEffect<{ to: string }>({ send: async () => new Response() }),
});
effect('letter', { to: 'somebody' });
// @ts-expect-error an effect that is not defined
effect('leter', { to: 'somebody' });
// @ts-expect-error a payload of another shape
effect('letter', { too: 'somebody' });
