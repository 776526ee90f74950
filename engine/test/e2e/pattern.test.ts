import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { useRunning, WAIT } from '../running.ts';

const running = useRunning();
const { sign, post, sql, quiet } = running;

const DAY_MS = 86_400_000;

function charge({ id = `evt_${randomUUID()}`, customer = `cus_${randomUUID()}`, amount = 4200 } = {}) {
  const object = { id: `in_${id}`, customer, amount: amount, currency: 'eur' };
  return {
    id,
    customer,
    body: JSON.stringify({ id, type: 'charge.succeeded', created: 1_770_000_000, data: { object } }),
  };
}

async function balanceOf(customer: string): Promise<string | undefined> {
  const rows = await sql<{ balance: string }>('select balance from fixture.balances where customer = $1', [customer]);
  return rows[0]?.balance;
}

beforeEach(running.empty);

describe('one event', () => {
  it('an event that Postgres could not take is accepted, forwarded, and worked once, however often it is delivered', async () => {
    const { customer, body } = charge();
    const signed = await sign('stripe', body);
    running.stack.neon.fault = () => ({ kind: 'server error' });
    const first = await post('stripe', signed);
    running.stack.neon.fault = undefined;
    expect(await first.json()).toEqual({ status: 'accepted' });
    // Until then it is on the queue, and would be claimed in the next test.
    await vi.waitFor(async () => expect(await balanceOf(customer)).toBe('4200'), WAIT);
    expect(await (await post('stripe', signed)).json()).toEqual({ status: 'duplicate' });
    await quiet();
    expect(await balanceOf(customer)).toBe('4200');
  });

  it('an event that comes back after DEDUPE_DAYS is a new event', async () => {
    const { customer, body } = charge();
    await post('stripe', await sign('stripe', body));
    await quiet();
    await running.workers.tick(new Date(Date.now() + 29 * DAY_MS));
    expect(await (await post('stripe', await sign('stripe', body))).json()).toEqual({ status: 'duplicate' });

    await running.workers.tick(new Date(Date.now() + 31 * DAY_MS));
    expect(await (await post('stripe', await sign('stripe', body))).json()).toEqual({ status: 'accepted' });
    await quiet();
    expect(await balanceOf(customer)).toBe('8400');
  });
});

it('fifty deliveries of one event at the same moment are one claim and one effect', async () => {
  const { customer, body } = charge();
  const signed = await sign('stripe', body);
  const answers = await Promise.all(
    Array.from({ length: 50 }, async () => (await (await post('stripe', signed)).json()) as { status: string }),
  );
  await quiet();
  const count = (status: string) => answers.filter((answer) => answer.status === status).length;
  expect([count('accepted'), count('duplicate')]).toEqual([1, 49]);
  expect(await balanceOf(customer)).toBe('4200');
  expect(await sql('select completions from webhooks.events')).toEqual([{ completions: 1 }]);
  expect(await sql('select name from webhooks.effects')).toEqual([{ name: 'thanks' }]);
});

it('an effect is sent until the other side accepts it, always with the same idempotency key', async () => {
  const { outside } = running.stack;
  const { customer, body } = charge();
  const keys: (string | undefined)[] = [];
  outside.answer = (request) => {
    if (!request.body.includes(customer)) return undefined;
    const isLast = keys.push(request.idempotencyKey) === 2;
    return isLast ? undefined : new Response(null, { status: 503, headers: { 'retry-after': '1' } });
  };
  await post('stripe', await sign('stripe', body));
  await quiet();
  outside.answer = undefined;
  // The 503 is no attempt: it says that the other side is down.
  expect(await sql('select status, attempts from webhooks.effects')).toEqual([{ status: 'sent', attempts: 1 }]);
  expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
});

it('a duplicate of an event whose ticket was lost sends it again', async () => {
  const { customer, body } = charge();
  const signed = await sign('stripe', body);
  await post('stripe', signed);
  await quiet();
  // The state ten minutes after the queue has lost the ticket.
  await sql(`delete from fixture.balances`);
  await sql(`update webhooks.events set status = 'pending', completions = 0, due_at = now()`);
  expect(await (await post('stripe', signed)).json()).toEqual({ status: 'duplicate' });
  await quiet();
  expect(await balanceOf(customer)).toBe('4200');
});
