// What never arrived: the provider is asked what it has sent, and every event is worked once.
import { sql as statement } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createConsumer } from '../../src/consumer/consumer.ts';
import { takeAlerts } from '../../src/db/alerts.ts';
import { beginReconcile, claimMissing, recordWindow, restartReconcile } from '../../src/db/reconciles.ts';
import { loadMetrics, loadReconciles } from '../../src/db/status.ts';
import { defineHandler, type Source } from '../../src/kit/index.ts';
import { github } from '../../src/providers/github.ts';
import { sesmetric } from '../../src/providers/sesmetric.ts';
import { stripe } from '../../src/providers/stripe.ts';
import { isReconcileMessage } from '../../src/queue/tickets.ts';
import {
  defineReconcile,
  githubDeliveries,
  type ListedDeliveries,
  type ListedEvents,
  stripeEvents,
} from '../../src/reconcile/index.ts';
import type { LogLine } from '../../src/shared/log.ts';
import { searchedLog } from '../canaries/canaries.ts';
import { useDatabase } from '../database.ts';
import { FakeQueue } from '../fake-queue.ts';
import { newEvent } from '../new-event.ts';
import { startReceiver } from '../receiver/in-node.ts';
import { signers } from '../signatures.ts';
import { FakeMessage } from './in-node.ts';
import { answerFor, type Gate, GitHubApi, StripeApi, type StripeEvent } from './provider-apis.ts';

const database = useDatabase();
const { sql } = database;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = Date.parse('2026-03-01T08:00:00Z');
const SECRETS = { STRIPE_WEBHOOK_SECRET: 'whsec_secret_of_stripe', GITHUB_WEBHOOK_SECRET: 'secret-of-github' };

// More than one list of Stripe's takes.
const TYPES = ['invoice.paid', ...Array.from({ length: 22 }, (_, n) => `other.type_${n}`), 'charge.succeeded'];
const SOURCES = {
  stripe: { provider: stripe, types: TYPES },
  github: { provider: github, types: ['push'] },
} satisfies Record<string, Source>;

let clock = START;
const now = () => new Date(clock);
let world: World;

/** The Workers in this process, with a queue between them, and the providers. */
class World {
  readonly events = new FakeQueue();
  readonly lines: LogLine[] = [];
  readonly stripe = new StripeApi();
  readonly github = new GitHubApi(now, (guid, body) => this.#post('github', body, guid));
  isAway = false;
  gate: Gate;
  vars: Record<string, string> = { STRIPE_API_KEY: 'rk_live_of_acme', GITHUB_TOKEN: 'github_pat_of_acme' };
  #sources: Readonly<Record<string, Source>>;
  readonly #receiver;
  readonly #reconcile;

  constructor(
    kinds: Record<string, ListedEvents | ListedDeliveries> = {
      stripe: stripeEvents({ key: 'STRIPE_API_KEY' }),
      github: githubDeliveries({ hook: 'orgs/acme/hooks/1', token: 'GITHUB_TOKEN' }),
    },
    sources: Readonly<Record<string, Source>> = SOURCES,
  ) {
    this.#sources = sources;
    this.#reconcile = defineReconcile(sources, kinds);
    const env = { DATABASE_URL: database.stack.workerUrls.receiver, EVENTS: this.events, ...SECRETS };
    this.#receiver = startReceiver({ sources, env, now });
    answerFor(this.stripe, this.github, () => this.gate);
  }

  async #post(name: 'stripe' | 'github', body: string, id = ''): Promise<number> {
    if (this.isAway) return 503;
    const secret = name === 'stripe' ? SECRETS.STRIPE_WEBHOOK_SECRET : SECRETS.GITHUB_WEBHOOK_SECRET;
    const signed = await signers[name](body, { secret, id, now: now() });
    return (await this.#receiver.send(name, signed)).status;
  }

  /** Stripe makes an event, and delivers it. While the receiver is away, it tries again until it gives up. */
  async stripeSends(id: string, more: Partial<StripeEvent> = {}): Promise<StripeEvent> {
    const event = {
      id,
      type: 'invoice.paid',
      created: Math.floor(clock / 1000),
      livemode: true,
      api_version: '2025-08-27.basil',
      data: { object: { customer: 'cus_1' } },
      ...more,
    };
    this.stripe.events.push(event);
    await this.#post('stripe', JSON.stringify(event));
    return event;
  }

  consumer(kinds = this.#reconcile) {
    const worked = defineHandler({
      handle: ({ source, id }, { db }) => [
        db.execute(
          statement`insert into worked values (${source}, ${id}, 1) on conflict (source, id) do update set times = worked.times + 1`,
        ),
      ],
    });
    return createConsumer({
      handlers: Object.fromEntries(
        Object.entries(this.#sources).map(([name, { types }]) => [
          name,
          Object.fromEntries(types.map((type) => [type, worked])),
        ]),
      ),
      sources: this.#sources,
      effects: {},
      now,
      random: () => 0.5,
      handlerMs: 30_000,
      effectMs: 30_000,
      reconcile: kinds,
      log: (line) => {
        searchedLog(line);
        this.lines.push(line);
      },
    });
  }

  get env() {
    return {
      ...this.vars,
      DATABASE_URL: database.stack.workerUrls.consumer,
      EVENTS: this.events,
      EFFECTS: new FakeQueue(),
      EVENTS_QUEUE: 'events',
      EFFECTS_QUEUE: 'effects',
      DEDUPE_DAYS: 30,
      BODY_DAYS: 7,
    } as unknown as ConsumerEnv;
  }

  /** The cron, without what it puts on the queue. */
  async cron(): Promise<void> {
    await this.consumer().scheduled({ scheduledTime: clock }, this.env);
  }

  /** Brings what is on the queue to the consumer, a batch at a time, until nothing is left. */
  async drain(): Promise<void> {
    while (this.events.tickets.length > 0) await this.deliver(this.events.tickets.splice(0, 100));
  }

  async deliver(bodies: readonly unknown[]): Promise<FakeMessage[]> {
    const messages = bodies.map((body) => new FakeMessage('', 1, body));
    const batch = { queue: 'events', messages, retryAll() {} } as unknown as MessageBatch;
    await this.consumer().queue(batch, this.env);
    return messages;
  }

  async tick(): Promise<void> {
    await this.cron();
    await this.drain();
  }

  linesOf(source: string, ...outcomes: string[]) {
    const those = this.lines.filter((line) => line.step === 'reconcile' && line.source === source);
    return outcomes.length === 0 ? those : those.filter(({ outcome }) => outcomes.includes(outcome));
  }
}

beforeEach(async () => {
  await sql(`
    delete from webhooks.events; delete from webhooks.reconciles; delete from webhooks.alerts; delete from webhooks.hours;
    drop table if exists worked; create table worked (source text, id text, times int, primary key (source, id))`);
  await sql(`grant select, insert, update on worked to "${database.role('consumer')}"`);
  clock = START;
});
afterEach(() => {
  vi.restoreAllMocks();
});

const worked = () => sql<{ source: string; id: string; times: number }>('select * from worked order by 1, 2');
const statusOf = async (source: string) => (await loadReconciles(database.ops, [source]))[0];

/** The first tick, and an hour of deliveries: after it, each source has an event that its API lists. */
async function known(): Promise<void> {
  await world.tick();
  clock += MINUTE;
  if ('STRIPE_API_KEY' in world.vars) await world.stripeSends('evt_known');
  await world.github.deliver('guid-known', '{"known":true}');
  await world.drain();
}

describe('the drill', () => {
  it('while the receiver and the cron are away, events come and are given up: one tick finds all of them, each is worked once, and the report says so', async () => {
    world = new World();
    const ids = { stripe: new Set<string>(), github: new Set<string>() };
    const each = async (n: number) => {
      const type = TYPES[n % TYPES.length] ?? '';
      ids.stripe.add((await world.stripeSends(`evt_${n}`, { type })).id);
      await world.github.deliver(`guid-${n}`, JSON.stringify({ n }));
      ids.github.add(`guid-${n}`);
    };
    for (let minute = 0; minute < 255; minute++) {
      clock = START + minute * MINUTE;
      world.isAway = minute >= 120 && minute < 180;
      if (minute % 15 === 0 && minute < 120) await world.tick();
      await each(minute);
      if (!world.isAway) await world.drain();
    }
    // More than a window may hold, within three seconds of the outage.
    world.isAway = true;
    clock = START + 150 * MINUTE;
    for (let n = 1000; n < 1600; n++) {
      ids.stripe.add((await world.stripeSends(`evt_${n}`, { created: clock / 1000 + (n % 3) })).id);
    }
    // Stripe lists by time.
    world.stripe.events.sort((a, b) => a.created - b.created);
    world.isAway = false;
    const before = await worked();
    expect(before).toHaveLength(2 * (255 - 60));

    clock = START + 255 * MINUTE;
    await world.tick();
    // GitHub has delivered meanwhile.
    const after = await worked();
    expect(new Set(after.filter(({ source }) => source === 'stripe').map(({ id }) => id))).toEqual(ids.stripe);
    expect(new Set(after.filter(({ source }) => source === 'github').map(({ id }) => id))).toEqual(ids.github);
    expect(after.every(({ times }) => times === 1)).toBe(true);

    const [begin] = [new Date(START + 120 * MINUTE).toISOString()];
    expect(await statusOf('stripe')).toMatchObject({ found: 660, found_since: begin, asked_at: now().toISOString(), problem: null });
    expect(await statusOf('github')).toMatchObject({ found: 60, found_since: begin, listed: expect.any(Number), missing: 60 });
    expect((await takeAlerts(database.consumer, now(), 60, ['stripe', 'github'])).map(({ condition, source, events }) => [condition, source, events])).toEqual([
      ['missing', 'github', 60],
      ['missing', 'stripe', 660],
    ]);
    const measured = (await loadMetrics(database.ops, now())).filter(({ name }) => name === 'found_missing');
    expect(measured.map(({ source, value }) => [source, value]).sort()).toEqual([['github', 60], ['stripe', 660]]);

    // The next tick finds nothing, and the last one before it nothing again.
    clock += 15 * MINUTE;
    await world.tick();
    expect(world.linesOf('stripe').at(-1)).toMatchObject({ outcome: 'complete', missing: 0 });
    expect(world.linesOf('github').at(-1)).toMatchObject({ outcome: 'complete', missing: 0 });
    expect(await worked()).toEqual(after);
  });
});
