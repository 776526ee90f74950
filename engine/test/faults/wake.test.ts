import { expect, it, vi } from 'vitest';
import { useRunning, WAIT } from '../running.ts';
import { Compute } from './compute.ts';
import { isLong, report } from './form.ts';

const running = useRunning({ receiver: 'engine/test/fixture/wrangler.real-limits.toml' });
const { post, sign, sql } = running;

/** How long the compute needs to wake up. Neon says: a few hundred milliseconds. A claim gives up after 1.5 s. */
const WAKES_IN_MS = isLong ? [300, 1000, 2000, 5000, 20_000] : [500, 2000];

/** They arrive together, because a provider that was silent for minutes often sends several events at once. */
const DELIVERIES = 20;

/** Slack, Zoom and Discord wait no longer. What an answer takes anyway, while the compute is awake, is subtracted. */
const ANSWERED_WITHIN_MS = 3000;

async function deliverAll(prefix: string): Promise<{ readonly status: number; readonly ms: number }[]> {
  const signed = await Promise.all(
    Array.from({ length: DELIVERIES }, (_, n) => {
      const data = { object: { customer: prefix, amount: 1 } };
      return sign('stripe', JSON.stringify({ id: `${prefix}_${n}`, type: 'charge.succeeded', data }));
    }),
  );
  return Promise.all(
    signed.map(async (delivery) => {
      const sent = performance.now();
      const { status } = await post('stripe', delivery);
      return { status, ms: performance.now() - sent };
    }),
  );
}

const slowest = (answers: readonly { readonly ms: number }[]) => Math.max(...answers.map(({ ms }) => ms));

it.each(WAKES_IN_MS)(
  'the first deliveries after a suspension are answered within three seconds if the compute wakes in %d ms',
  async (wakeMs) => {
    // The first deliveries also start the Worker.
    await deliverAll(`cold_${wakeMs}`);
    const usual = slowest(await deliverAll(`awake_${wakeMs}`));
    const compute = new Compute(wakeMs);
    const start = performance.now();
    running.stack.neon.fault = () => {
      const ms = compute.ask(performance.now() - start);
      return ms > 0 ? { kind: 'slow', ms } : undefined;
    };
    const prefix = `evt_${wakeMs}`;
    const answers = await deliverAll(prefix);
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: DELIVERIES }, () => 200));
    expect(slowest(answers) - usual).toBeLessThan(ANSWERED_WITHIN_MS);

    await vi.waitFor(async () => {
      const [row] = await sql(
        `select count(*)::int as done from webhooks.events where status = 'done' and starts_with(event_id, $1)`,
        [`${prefix}_`],
      );
      expect(row).toEqual({ done: DELIVERIES });
    }, WAIT);
    const balance = await sql('select balance from fixture.balances where customer = $1', [prefix]);
    expect(balance).toEqual([{ balance: String(DELIVERIES) }]);
    expect(compute.wakes).toBe(1);
    const forwarded = running
      .logs()
      .split('\n')
      .filter((line) => line.includes(`"${prefix}_`) && line.includes('"forwarded":true')).length;
    // Well below the claim's time limit of 1.5 s Postgres takes them, and well above it the queue.
    if (wakeMs + usual < 1000) expect(forwarded).toBe(0);
    if (wakeMs > 1500) expect(forwarded).toBe(DELIVERIES);
    report('neon wakes', {
      'wakes in (s)': wakeMs / 1000,
      deliveries: DELIVERIES,
      'held by Postgres': DELIVERIES - forwarded,
      'held by the queue': forwarded,
      'slowest answer (ms)': Math.round(slowest(answers)),
      lost: 0,
    });
  },
);
