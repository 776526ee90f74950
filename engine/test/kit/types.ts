// What must not compile. Nothing here runs: `npm run check` compiles it, and an error that is missing is an error.
import * as v from 'valibot';
import {
  defineEffect,
  defineEffects,
  defineHandler,
  defineHandlers,
  defineProvider,
  defineSources,
  typed,
} from '../../src/kit/index.ts';
import { stripe } from '../../src/providers/stripe.ts';
import { defineReconcile, githubDeliveries, stripeEvents } from '../../src/reconcile/index.ts';

const sources = defineSources({ stripe: { provider: stripe, types: ['charge.succeeded'] } });
const handler = defineHandler({ handle: () => [] });

defineHandlers(sources, { stripe: { 'charge.succeeded': handler } });
// @ts-expect-error a source that is not configured
defineHandlers(sources, { strip: { 'charge.succeeded': handler } });
// @ts-expect-error a type that the source did not subscribe to
defineHandlers(sources, { stripe: { 'charge.suceeded': handler } });
defineHandlers(sources, { stripe: { 'charge.*': handler, '*': { one: handler, another: handler } } });
// @ts-expect-error a pattern that covers no type of the source
defineHandlers(sources, { stripe: { 'invoice.*': handler } });
// @ts-expect-error a pattern without a dot
defineHandlers(sources, { stripe: { 'charge*': handler } });
// @ts-expect-error a list without names
defineHandlers(sources, { stripe: { '*': [handler, handler] } });
// @ts-expect-error a list with a hole
defineHandlers(sources, { stripe: { '*': { one: handler, another: undefined } } });
// @ts-expect-error a list of something else
defineHandlers(sources, { stripe: { '*': { one: () => [] } } });
const open = defineSources({
  all: { provider: stripe, types: '*' },
  some: { provider: stripe, types: ['issues.*', 'a.b.c'] },
});
defineHandlers(open, { all: { 'any.type': handler }, some: { 'issues.opened': handler, 'a.b.*': handler } });
// @ts-expect-error a type that no pattern of the source covers
defineHandlers(open, { some: { 'issue.opened': handler } });
// @ts-expect-error the name of a provider instead of the provider
defineSources({ stripe: { provider: 'stripe', types: [] } });
// @ts-expect-error a source without its types
defineSources({ stripe: { provider: stripe } });

defineSources({ stripe: { provider: stripe, types: [], orderKey: '{json:data.object.customer}' } });
defineSources({
  stripe: { provider: stripe, types: [], orderKey: { of: ['{json:a}', '{json:b}'], afterParked: 'continue' } },
});
defineSources({ shops: { provider: stripe, types: [], tenants: true } });
// @ts-expect-error a source has tenants or says nothing about them
defineSources({ shops: { provider: stripe, types: [], tenants: 'yes' } });
// @ts-expect-error an order key without a place, which would be the same for every event
defineSources({ stripe: { provider: stripe, types: [], orderKey: 'customer' } });
// @ts-expect-error a place of a kind that does not exist
defineSources({ stripe: { provider: stripe, types: [], orderKey: '{jason:customer}' } });
// @ts-expect-error a misspelt option of an order key
defineSources({ stripe: { provider: stripe, types: [], orderKey: { of: '{json:a}', afterPraked: 'continue' } } });

defineReconcile(sources, { stripe: stripeEvents({ key: 'STRIPE_API_KEY' }) });
// @ts-expect-error a source that is not configured
defineReconcile(sources, { strip: stripeEvents({ key: 'STRIPE_API_KEY' }) });
// @ts-expect-error the address of a hook, and not its place in the API
githubDeliveries({ hook: 'https://github.com/acme/app/settings/hooks/1', token: 'GITHUB_TOKEN' });

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
defineHandler({
  schema: typed<{ readonly amount: number }>(),
  handle({ data }) {
    data.amount satisfies number;
    // @ts-expect-error a property that the type does not have
    data.id;
    return [];
  },
});
// @ts-expect-error a misspelt option
defineHandler({ handle: () => [], atempts: 3 });
// @ts-expect-error a change is a statement or an effect
defineHandler({ handle: () => ['update things'] });

const { effect, cancel } = defineEffects({
  letter: defineEffect<{ to: string }>({ send: async () => new Response() }),
  parcel: defineEffect({
    schema: v.object({ grams: v.pipe(v.string(), v.transform(Number)) }),
    async send({ grams }) {
      grams satisfies number;
      // @ts-expect-error the schema does not let this through
      grams.length;
      return new Response();
    },
  }),
});
effect('parcel', { grams: '500' });
// @ts-expect-error a payload that the schema does not take
effect('parcel', { grams: 500 });
effect('letter', { to: 'somebody' });
// @ts-expect-error an effect that is not defined
effect('leter', { to: 'somebody' });
// @ts-expect-error a payload of another shape
effect('letter', { too: 'somebody' });
effect('letter', { to: 'somebody' }, { at: new Date(), key: 'k', name: 'first' });
defineHandler({ handle: () => [effect('letter', { to: 'somebody' }, { after: 60 }), cancel('letter', 'k')] });
// @ts-expect-error two times
effect('letter', { to: 'somebody' }, { at: new Date(), after: 60 });
// @ts-expect-error a misspelt option
effect('letter', { to: 'somebody' }, { aftr: 60 });
// @ts-expect-error an effect that is not defined
cancel('leter', 'k');

const scheme = { signature: 'header:x-signature', encoding: 'hex', key: 'utf8', signed: '{body}' } as const;
const id = { at: '{json:id}', signed: true } as const;
const facts = { name: 'billing', docs: 'Ours.', scheme, id, type: ['{json:type}'] } as const;

const billing = defineProvider(facts);
defineSources({ billing: { provider: billing, types: [] } });
// @ts-expect-error a provider that defineProvider has not checked
defineSources({ billing: { provider: facts, types: [] } });
// @ts-expect-error a place of a kind that does not exist
defineProvider({ ...facts, scheme: { ...scheme, signature: 'haeder:x-signature' } });
// @ts-expect-error a typo in the second place of a signed template
defineProvider({ ...facts, scheme: { ...scheme, signed: '{header:x-id}.{haeder:x-time}.{body}' } });
// @ts-expect-error a signed text without any place
defineProvider({ ...facts, scheme: { ...scheme, signed: 'body' } });
// @ts-expect-error a dot where a colon belongs
defineProvider({ ...facts, id: { at: '{json.id}', signed: true } });
// @ts-expect-error an id without braces
defineProvider({ ...facts, id: { at: 'json.id', signed: true } });
// @ts-expect-error the second of several ids
defineProvider({ ...facts, id: { at: ['{json:id}', '{sha265}'], signed: true } });
// @ts-expect-error a brace that is not closed
defineProvider({ ...facts, type: ['{json:type'] });
// @ts-expect-error a place in the reply to a handshake
defineProvider({ ...facts, ack: { status: 200, json: { echo: '{hmac-hex:jsno:token}' } } });
// @ts-expect-error a property that does not exist
defineProvider({ ...facts, id: { at: '{json:id}', sinned: true } });
defineProvider({
  ...facts,
  // A type may be a fixed text.
  type: ['{json:type}', 'unknown'],
  handshakes: [{ method: 'GET', when: [{ at: 'query:c', like: /^x$/ }], reply: { status: 200, text: '{query:c}' } }],
});
defineProvider({
  ...facts,
  // Conditions have no braces, although they are inside `id`.
  id: {
    at: ['{signed-header:x-id}', '{json:id}'],
    signed: false,
    bodiesRepeat: [
      [
        { at: 'header:x-type', is: 'start' },
        { at: 'json:job', like: /^a/ },
      ],
    ],
  },
  occurredAt: [
    { at: 'json:at', unit: 's' },
    { at: ['json:at', 'json:else'], unit: 'iso' },
  ],
});
// @ts-expect-error a place of a condition that does not exist
defineProvider({ ...facts, id: { at: '{json:id}', signed: false, bodiesRepeat: [[{ at: 'haeder:x', is: 'a' }]] } });
// @ts-expect-error a misspelt property of a condition
defineProvider({ ...facts, id: { at: '{json:id}', signed: false, bodiesRepeat: [[{ at: 'header:x', lyke: /a/ }]] } });
// @ts-expect-error a unit that does not exist
defineProvider({ ...facts, occurredAt: [{ at: 'json:at', unit: 'min' }] });
// @ts-expect-error a misspelt property in one of several times
defineProvider({ ...facts, occurredAt: [{ at: 'json:at', unit: 's', uint: 'ms' }] });
// @ts-expect-error a misspelt option of a source
defineSources({ billing: { provider: billing, types: [], maxByte: 5 } });
// @ts-expect-error a misspelt optional property
defineProvider({ ...facts, occuredAt: { at: 'json:at', unit: 'iso' } });
// @ts-expect-error a misspelt timestamp, which would switch the replay window off
defineProvider({ ...facts, scheme: { ...scheme, timestmap: { at: 'header:x-time', unit: 's', windowSeconds: 300 } } });
// @ts-expect-error a misspelt property of a batch
defineProvider({ ...facts, batch: { each: ['*'], envelop: true } });
