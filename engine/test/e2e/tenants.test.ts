// The events of tenants, from the claim to the effects.
import { beforeEach, expect, it } from 'vitest';
import { claim } from '../../src/db/claim.ts';
import { Cancel, type Change, defineHandler, Effect, type Event } from '../../src/kit/index.ts';
import { github } from '../../src/providers/github.ts';
import { stripe } from '../../src/providers/stripe.ts';
import { MESSAGE_VERSION } from '../../src/queue/tickets.ts';
import { defineReconcile, githubDeliveries, stripeEvents } from '../../src/reconcile/index.ts';
import { useDatabase } from '../database.ts';
import { claimRequest, newEvent } from '../new-event.ts';
import { consumeInNode, FakeMessage } from './in-node.ts';

const database = useDatabase();
const { sql } = database;

/** What the handler was given, and what its effects were. */
let seen: Pick<Event, 'id' | 'tenant'>[];
let sent: (readonly [payload: unknown, tenant: string | undefined])[];
const effects = {
  mail: {
    send: async (payload: never, { tenant }: { readonly tenant?: string | undefined }) => {
      sent.push([payload, tenant]);
      return new Response();
    },
  },
};

beforeEach(async () => {
  await sql('delete from webhooks.events; delete from webhooks.cancellations');
  seen = [];
  sent = [];
});

/** Works an event with a handler that returns these changes. */
async function work(eventId: string, changes: Change[], { tenants = true }: { tenants?: boolean } = {}): Promise<void> {
  await claim(database.receiver, claimRequest([newEvent(eventId)], { receivedAt: new Date() }));
  const handler = defineHandler({
    handle: ({ id, tenant }) => {
      seen.push({ id, tenant });
      return changes;
    },
  });
  const message = new FakeMessage(eventId);
  await consumeInNode([message], handler, database.stack.workerUrls.consumer, tenants ? { tenants: true } : {});
}

async function send(eventId: string): Promise<void> {
  const ticket = { version: MESSAGE_VERSION, source: 'test', eventId, name: 'mail' };
  const handler = defineHandler({ handle: () => [] });
  await consumeInNode([new FakeMessage('ticket', 1, ticket)], handler, database.stack.workerUrls.consumer, {
    queue: 'effects',
    tenants: true,
    effects,
  });
}

it('a handler and its effects see whose event it is', async () => {
  await work('acme:evt:1', [new Effect('mail', 'hello', 'mail')]);
  await send('acme:evt:1');
  expect(seen).toEqual([{ id: 'acme:evt:1', tenant: 'acme' }]);
  expect(sent).toEqual([['hello', 'acme']]);
});

it('without tenants, an id with a colon names none', async () => {
  await work('acme:evt:1', [], { tenants: false });
  expect(seen).toEqual([{ id: 'acme:evt:1', tenant: undefined }]);
});

it('an event whose id names no tenant is parked, and its handler is not asked', async () => {
  for (const id of ['evt_1', 'Not a tenant:evt_1', ':evt_1']) await work(id, []);
  expect(seen).toEqual([]);
  const rows = await sql<{ status: string; last_error: string }>('select status, last_error from webhooks.events');
  expect(new Set(rows.map(({ status }) => status))).toEqual(new Set(['parked']));
  expect(rows[0]?.last_error).toContain('the id of this event names none');
});

it('a tenant cancels its own effects, and not those of another tenant with the same key', async () => {
  const mail = () => new Effect('mail', 'reminder', 'mail', { after: 60, key: 'trial' });
  await work('acme:1', [mail()]);
  await work('globex:1', [mail()]);
  await work('acme:2', [new Cancel('mail', 'trial')]);
  expect(await sql('select event_id, status from webhooks.effects order by event_id')).toEqual([
    { event_id: 'acme:1', status: 'cancelled' },
    { event_id: 'globex:1', status: 'pending' },
  ]);
});

it('a source with tenants is not reconciled, because each has an account of its own', () => {
  const pay = { provider: stripe, types: ['a'], tenants: true } as const;
  const code = { provider: github, types: ['a'], tenants: true } as const;
  expect(() => defineReconcile({ pay }, { pay: stripeEvents({ key: 'STRIPE_API_KEY' }) })).toThrow('has tenants');
  const deliveries = githubDeliveries({ hook: 'orgs/acme/hooks/1', token: 'GITHUB_TOKEN' });
  expect(() => defineReconcile({ code }, { code: deliveries })).toThrow('has tenants');
});
