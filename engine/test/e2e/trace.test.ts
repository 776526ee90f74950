import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { claim } from '../../src/db/claim.ts';
import { openDatabase } from '../../src/db/client.ts';
import { defineHandler } from '../../src/kit/index.ts';
import { claimRequest } from '../new-event.ts';
import { useRunning, WAIT } from '../running.ts';
import { consumeInNode, FakeMessage } from './in-node.ts';

const running = useRunning();

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const TRACEPARENT = `00-${TRACE_ID}-00f067aa0ba902b7-01`;
const CHILD = new RegExp(`^00-${TRACE_ID}-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$`);

beforeEach(running.empty);
afterEach(() => {
  running.stack.neon.fault = undefined;
});

async function deliver(id: string, headers: Record<string, string> = {}): Promise<void> {
  const object = { customer: `cus_${id}`, amount: 1 };
  const signed = await running.sign('stripe', JSON.stringify({ id, type: 'charge.succeeded', data: { object } }));
  const answer = await running.post('stripe', { ...signed, headers: { ...signed.headers, ...headers } });
  expect(answer.status).toBe(200);
}

/** The log lines that name an event, once its effect has been sent. */
async function linesOf(id: string): Promise<Record<string, unknown>[]> {
  const read = () =>
    running
      .logs()
      .split('\n')
      .filter((line) => line.startsWith('{') && line.includes(`"${id}"`))
      .map((line) => JSON.parse(line));
  await vi.waitFor(() => expect(read()).toContainEqual(expect.objectContaining({ step: 'effect' })), WAIT);
  return read();
}

const STEPS = ['delivery accepted', 'completion done', 'effect sent'];

it.each([
  ['an event', 'evt_1', STEPS],
  ['an event that goes through the queue while Postgres is away', 'evt_away', ['claim failed', ...STEPS]],
])(
  '%s has its id and the trace id of its delivery in every log line, and its effect continues the trace',
  async (_which, id, steps) => {
    running.stack.neon.fault = ({ query, params }) =>
      query?.includes('insert into "webhooks"."events"') && params?.includes('evt_away')
        ? { kind: 'refused' }
        : undefined;
    await deliver(id, { traceparent: TRACEPARENT });
    running.stack.neon.fault = undefined;
    const lines = await linesOf(id);
    expect(lines.map(({ step, outcome }) => `${step} ${outcome}`)).toEqual(steps);
    for (const line of lines) expect(line).toMatchObject({ source: 'stripe', event_id: id, trace_id: TRACE_ID });
    const thanks = running.stack.outside.requests.find(({ body }) => body.includes(`cus_${id}`));
    expect(thanks?.traceparent).toMatch(CHILD);
  },
);

it('the calls of a handler continue the trace, each with a parent id of its own, unless it traces them itself', async () => {
  const { workerUrls, outside } = running.stack;
  const handler = defineHandler({
    async handle({ headers }, { fetch }) {
      expect(headers.traceparent).toBe(TRACEPARENT);
      await fetch(`${outside.url}/one`, { headers: { 'idempotency-key': 'mine' } });
      await fetch(
        new Request(`${outside.url}/two`, { method: 'POST', body: 'text', headers: { 'idempotency-key': 'mine' } }),
      );
      await fetch(`${outside.url}/own`, { headers: { traceparent: 'own' } });
      return [];
    },
  });
  const received = { headers: { traceparent: TRACEPARENT }, receivedAt: new Date() };
  await claim(openDatabase(workerUrls.receiver), claimRequest(['evt_1'], received));
  await consumeInNode([new FakeMessage('evt_1')], handler, workerUrls.consumer);
  expect(await running.sql('select status from webhooks.events')).toEqual([{ status: 'done' }]);
  const [one, two, own] = ['/one', '/two', '/own'].map((path) =>
    outside.requests.find((request) => request.path === path),
  );
  expect(one).toMatchObject({ traceparent: expect.stringMatching(CHILD), idempotencyKey: 'mine' });
  expect(two).toMatchObject({ traceparent: expect.stringMatching(CHILD), idempotencyKey: 'mine', body: 'text' });
  expect(own?.traceparent).toBe('own');
});
