import { beforeEach, expect, it } from 'vitest';
import { claim } from '../../../src/db/claim.ts';
import { parkEvents } from '../../../src/db/fail.ts';
import { tick } from '../../../src/receiver/cron.ts';
import { claimable } from '../claimable.ts';
import { startConsole, TOKEN } from '../console/receiver.ts';
import { useDatabase } from '../database.ts';
import { Compute } from './compute.ts';
import { isLong, report, seed } from './form.ts';
import { randomFrom } from './random.ts';

const database = useDatabase();

const [SECOND, MINUTE, DAY] = [1000, 60_000, 86_400_000];
const DAYS = isLong ? 7 : 1;
const START = Date.parse('2026-03-01T00:00:00Z');

/** The crons of wrangler.toml. Cloudflare doesn't promise the second in which one starts. */
const CRON_EVERY_MS = 15 * MINUTE;
const CRON_LATE_MS = MINUTE;

/** Prometheus's shortest usual interval, and the isolates between which Cloudflare may divide its requests. */
const SCRAPE_EVERY_MS = 15 * SECOND;
const ISOLATES = 3;

/** People and programs that look for weak spots, in every hour of every public address. */
const STRANGER_EVERY_MS = 7 * MINUTE;

/** Neon's smallest compute. */
const COMPUTE_UNITS = 0.25;

beforeEach(async () => {
  await database.sql('truncate webhook_events, webhook_alerts cascade');
  // Something that is parked is a standing alert.
  await claim(database.receiver, 'stripe', [claimable('evt_1')], {}, new Date(START));
  await parkEvents(database.consumer, [{ source: 'stripe', eventId: 'evt_1' }], 'Error: no', new Date(START));
});

it.each([
  { asks: 'the cron', alerts: false, scrapes: false, minutes: 5 },
  { asks: 'the cron, with alerts', alerts: true, scrapes: false, minutes: 5 },
  { asks: 'the cron, with alerts, and a scraper of the metrics', alerts: true, scrapes: true, minutes: 7 },
])(
  'without deliveries, $asks wakes the database once in 15 minutes, for $minutes minutes each time',
  async ({ asks, alerts, scrapes, minutes }) => {
    const random = randomFrom(seed);
    const compute = new Compute();
    let now = START;
    database.stack.neon.fault = () => {
      compute.ask(now);
      return undefined;
    };
    const env = {
      DATABASE_URL: database.stack.workerUrls.receiver,
      OPS_TOKEN: TOKEN,
      DEDUPE_DAYS: 30,
      BODY_DAYS: 7,
      STRIPE_WEBHOOK_SECRET: 'whsec_of_this_test',
      ...(alerts ? { ALERT_WEBHOOK_URL: `${database.stack.outside.url}/alerts` } : {}),
    };
    const isolates = Array.from({ length: ISOLATES }, () => startConsole({ env }));
    const call = (path: string, init: RequestInit) => {
      const isolate = isolates[Math.floor(random() * ISOLATES)];
      if (isolate) isolate.time.now = new Date(now);
      return isolate?.call(path, init);
    };
    const authorization = `Bearer ${TOKEN}`;
    const ticks = every(CRON_EVERY_MS, (scheduled) => ({
      at: scheduled + random() * CRON_LATE_MS,
      happens: () => tick(env as unknown as ReceiverEnv, new Date(scheduled), () => {}),
    }));
    const scraped = every(SCRAPE_EVERY_MS, (at) => ({
      at,
      happens: () => call('/ops/metrics', { headers: { authorization } }),
    }));
    const strangers = every(STRANGER_EVERY_MS, (at) => ({
      at,
      happens: async () => {
        await call('/ops', {});
        await call('/webhooks/stripe', { method: 'POST', headers: { 'stripe-signature': 't=1,v1=00' }, body: '{}' });
      },
    }));
    const day = [...ticks, ...(scrapes ? scraped : []), ...strangers].toSorted((a, b) => a.at - b.at);
    for (const { at, happens } of day) {
      now = at;
      await happens();
    }
    database.stack.neon.fault = undefined;

    const awakeMinutes = compute.awakeMs / MINUTE / DAYS;
    expect(compute.wakes).toBe(96 * DAYS);
    expect(awakeMinutes).toBeLessThanOrEqual(96 * minutes);
    // A test that asks nothing would be as quiet.
    expect(awakeMinutes).toBeGreaterThan(96 * (minutes - 1));
    report('neon asleep', {
      'what asks': asks,
      'wakes a day': compute.wakes / DAYS,
      'minutes awake a day': Math.round(awakeMinutes),
      'CU-hours in 30 days, at 0.25 CU': Math.round((awakeMinutes / 60) * 30 * COMPUTE_UNITS),
    });
  },
);

interface Happening {
  readonly at: number;
  readonly happens: () => Promise<unknown> | undefined;
}

function every(ms: number, make: (at: number) => Happening): Happening[] {
  return Array.from({ length: Math.floor((DAYS * DAY) / ms) }, (_, n) => make(START + n * ms));
}
