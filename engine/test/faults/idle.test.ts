import { beforeEach, expect, it } from 'vitest';
import { claim } from '../../src/db/claim.ts';
import { parkEvents } from '../../src/db/events.ts';
import { searchedLog } from '../canaries/canaries.ts';
import { useDatabase } from '../database.ts';
import consumer from '../fixture/consumer.ts';
import { sources } from '../fixture/sources.ts';
import { mountedReceiver } from '../mounted.ts';
import { claimRequest } from '../new-event.ts';
import { BEARER, startOpsWorker, TOKEN } from '../ops-worker/start.ts';
import { Compute } from './compute.ts';
import { isLong, report, seed } from './form.ts';
import { randomFrom } from './random.ts';

const database = useDatabase();

const SECOND = 1000;
const MINUTE = 60_000;
const DAY = 86_400_000;
const DAYS = isLong ? 7 : 1;
const START = Date.parse('2026-03-01T00:00:00Z');

/** The cron of wrangler.consumer.toml. Cloudflare doesn't promise the second in which one starts. */
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
  await database.sql('truncate webhooks.events, webhooks.alerts cascade');
  // Something that is parked is a standing alert.
  const event = { source: 'stripe', eventId: 'evt_1' };
  await claim(database.receiver, claimRequest([event.eventId], { source: event.source, receivedAt: new Date(START) }));
  await parkEvents(database.consumer, [event], { failure: 'handler', error: 'Error: no' }, new Date(START));
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
    const urls = database.stack.workerUrls;
    const consumerEnv = {
      DATABASE_URL: urls.consumer,
      EVENTS_QUEUE: 'events',
      DEDUPE_DAYS: 30,
      BODY_DAYS: 7,
      ...(alerts ? { ALERT_WEBHOOK_URL: `${database.stack.outside.url}/alerts` } : {}),
    } as unknown as ConsumerEnv;
    const receiver = mountedReceiver({ sources, now: () => new Date(now), log: searchedLog });
    const receiverEnv = { DATABASE_URL: urls.receiver, STRIPE_WEBHOOK_SECRET: 'whsec_of_this_test' };
    const opsEnv = { DATABASE_URL: urls.ops, OPS_TOKEN: TOKEN };
    const isolates = Array.from({ length: ISOLATES }, () => startOpsWorker({ env: opsEnv }));
    const callOps = (path: string, init: RequestInit) => {
      const isolate = isolates[Math.floor(random() * ISOLATES)];
      if (isolate) isolate.time.now = new Date(now);
      return isolate?.call(path, init);
    };
    const forged = { method: 'POST', headers: { 'stripe-signature': 't=1,v1=00' }, body: '{}' };
    const happenings: Happening[] = [
      ...every(CRON_EVERY_MS, async (scheduledTime) => consumer.scheduled({ scheduledTime }, consumerEnv)).map(
        ({ at, happens }) => ({ at: at + random() * CRON_LATE_MS, happens }),
      ),
      ...(scrapes ? every(SCRAPE_EVERY_MS, () => callOps('/ops/metrics', { headers: BEARER })) : []),
      ...every(STRANGER_EVERY_MS, async () => {
        expect((await callOps('/ops', {}))?.status).toBe(401);
        expect((await receiver.request('/webhooks/stripe', forged, receiverEnv)).status).toBe(401);
      }),
    ];
    for (const { at, happens } of happenings.toSorted((a, b) => a.at - b.at)) {
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

function every(ms: number, work: (at: number) => Promise<unknown> | undefined): Happening[] {
  return Array.from({ length: Math.floor((DAYS * DAY) / ms) }, (_, n) => {
    const at = START + n * ms;
    return { at, happens: () => work(at) };
  });
}
