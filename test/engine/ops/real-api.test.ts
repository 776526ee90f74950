import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { type Checkout, makeCheckout } from '../checkout.ts';
import { OPS, useRunning, WAIT } from '../running.ts';
import { TOKEN } from './fake-api.ts';
import { startOps } from './start-ops.ts';

const running = useRunning({
  ...OPS,
  consumer: 'test/engine/ops-worker/wrangler.consumer.toml',
  secrets: { OPS_TOKEN: TOKEN },
});
const { sign, post, sql, quiet } = running;

let checkout: Checkout;
beforeAll(async () => {
  checkout = await makeCheckout();
});
afterAll(() => checkout.remove());

const ops = async (...args: string[]) =>
  startOps(checkout, [...args, '--url', running.workers.url], { OPS_TOKEN: TOKEN });
const idsOf = (out: string) =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).event_id)
    .sort();

async function deliver(id: string): Promise<void> {
  const object = { customer: `cus_${id}`, amount: 1 };
  await post('stripe', await sign('stripe', JSON.stringify({ id, type: 'charge.succeeded', data: { object } })));
}

/** Three events whose handler fails, because the outside doesn't know what it asks for. */
beforeEach(async () => {
  await sql('delete from webhooks.events');
  running.stack.outside.answer = ({ path }) =>
    path === '/rates/eur' ? new Response(null, { status: 404 }) : undefined;
  for (const id of ['evt_1', 'evt_2', 'evt_3']) await deliver(id);
  await quiet();
});

it('a person finds what failed since this morning and why, and gets it done after the handler was fixed', async () => {
  // On a busy machine Postgres may not answer in time.
  await expect.poll(async () => (await ops('status')).out, WAIT).toMatch(/\nstripe +\d+ \w+ ago +\S+ +3 +0 +- +3 /);
  const failed = await ops('list', '--status', 'parked', '--since', '1d');
  expect(failed.out).toMatch(
    / stripe +evt_1 +charge\.succeeded +parked +1 +permanent +PermanentError: no exchange rate for EUR/,
  );

  expect(idsOf((await ops('list', '--failure', 'permanent', '--json')).out)).toEqual(['evt_1', 'evt_2', 'evt_3']);
  expect((await ops('list', '--failure', 'schema')).code).toBe(3);

  running.stack.outside.answer = undefined;
  expect(await ops('retry', '--status', 'parked')).toMatchObject({ code: 2, err: expect.stringContaining('3 events') });
  const retried = await ops('retry', '--status', 'parked', '--since', '1d', '--reason', 'fixed', '--yes');
  expect([retried.code, retried.out]).toEqual([0, '3 events and 0 effects will be tried again now\n']);
  await quiet();
  expect(idsOf((await ops('list', '--status', 'done', '--json')).out)).toEqual(['evt_1', 'evt_2', 'evt_3']);
  expect((await ops('list', '--status', 'parked')).code).toBe(3);
  expect((await ops('show', 'stripe', 'evt_1')).out).toMatch(
    /\n\S+ \S+ +token \(.+\) +retry +fixed +parked after 1 attempt: PermanentError: no /,
  );
});

it('one event is retried, discarded and run again by its key, and a parked effect is found by its event', async () => {
  const discarded = await ops('discard', 'stripe', 'evt_1', '--reason', 'not ours', '--json');
  expect(JSON.parse(discarded.out)).toEqual({ events: 1, effects: 0 });
  expect((await ops('show', 'stripe', 'evt_1')).out).toContain('discarded: not ours');

  running.stack.outside.answer = ({ path }) => (path === '/receipts' ? new Response(null, { status: 404 }) : undefined);
  expect((await ops('retry', 'stripe', 'evt_2')).code).toBe(0);
  const withParkedEffect = async () => (await ops('list', '--effect-status', 'parked', '--json')).out;
  await expect.poll(withParkedEffect, WAIT).toContain('"evt_2"');
  expect((await ops('show', 'stripe', 'evt_2')).out).toMatch(
    /\nreceipt +parked +1 +- +[0-9a-f]{64} +response +PermanentError: \S+ answered 404/,
  );

  running.stack.outside.answer = undefined;
  expect((await ops('rerun', 'stripe', 'evt_2', '--effects', '--yes')).out).toContain('1 event will run again now');
  await expect.poll(async () => (await ops('show', 'stripe', 'evt_2')).out, WAIT).toMatch(/\nreceipt +sent /);
  expect((await ops('show', 'stripe', 'none')).code).toBe(3);
  expect((await ops('discard', 'stripe', 'evt_2', '--reason', 'x')).code).toBe(3);
});

it('a token that is wrong, and a filter that the API does not know, are said in one line', async () => {
  const wrong = startOps(checkout, ['status', '--url', running.workers.url], { OPS_TOKEN: 'x'.repeat(40) });
  expect(await wrong).toMatchObject({ code: 1, err: expect.stringContaining('refuses this token') });
  expect(await ops('list', '--status', 'failed')).toMatchObject({
    code: 2,
    err: expect.stringMatching(/^ops: .*status is one of.*\n$/),
  });
});
