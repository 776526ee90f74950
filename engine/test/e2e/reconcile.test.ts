// What never arrived: the provider is asked what it has sent, and every event is worked once.
import { sql as statement } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createConsumer } from '../../src/consumer/consumer.ts';
import { takeAlerts } from '../../src/db/alerts.ts';
import { beginReconcile, claimMissing, recordWindow, restartReconcile } from '../../src/db/reconciles.ts';
import { loadMetrics, loadReconciles } from '../../src/db/status.ts';
import { defineHandler, type Source } from '../../src/kit/index.ts';
import { github } from '../../src/providers/github.ts';
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
      handlers: Object.fromEntries(Object.keys(this.#sources).map((name) => [name, { '*': worked }])),
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
      EVENTS_DEAD_QUEUE: 'events-dead',
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

/** The first tick, and after it an event of each source that is known here. */
async function known(): Promise<void> {
  await world.tick();
  clock += MINUTE;
  await world.stripeSends('evt_known');
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
    expect(await statusOf('stripe')).toMatchObject({
      found: 660,
      found_since: begin,
      asked_at: now().toISOString(),
      problem: null,
    });
    expect(await statusOf('github')).toMatchObject({
      found: 60,
      found_since: begin,
      listed: expect.any(Number),
      missing: 60,
    });
    expect(
      (await takeAlerts(database.consumer, now(), 60, ['stripe', 'github'])).map(({ condition, source, events }) => [
        condition,
        source,
        events,
      ]),
    ).toEqual([
      ['missing', 'github', 60],
      ['missing', 'stripe', 660],
    ]);
    const measured = (await loadMetrics(database.ops, now())).filter(({ name }) => name === 'found_missing');
    expect(measured.map(({ source, value }) => [source, value]).sort()).toEqual([
      ['github', 60],
      ['stripe', 660],
    ]);

    // The next tick finds nothing, and the last one before it nothing again.
    clock += 15 * MINUTE;
    await world.tick();
    expect(world.linesOf('stripe').at(-1)).toMatchObject({ outcome: 'complete', missing: 0 });
    expect(world.linesOf('github').at(-1)).toMatchObject({ outcome: 'complete', missing: 0 });
    expect(await worked()).toEqual(after);
  });
});

describe('a run that is killed', () => {
  // Before each of its requests, and after each, when the answer is lost.
  for (const state of ['closed', 'lost'] as const) {
    it(`at any request (${state}) is finished by the next ticks: every event is worked once, and the report counts each`, async () => {
      for (let at = 1; ; at++) {
        await sql('delete from webhooks.events; delete from webhooks.reconciles; delete from worked');
        clock = START;
        world = new World();
        await known();
        world.isAway = true;
        for (let n = 0; n < 5; n++) {
          clock += MINUTE;
          await world.stripeSends(`evt_${n}`);
          await world.github.deliver(`guid-${n}`, JSON.stringify({ n }));
        }
        world.isAway = false;
        clock += 2 * HOUR;
        await world.cron();
        const messages = world.events.tickets.splice(0).filter(isReconcileMessage);
        expect(messages).toHaveLength(2);
        let requests = 0;
        world.gate = () => {
          requests++;
          if (requests < at) return 'open';
          world.events.refuses = true;
          return requests === at ? state : 'closed';
        };
        for (const message of messages) await world.deliver([message]);
        world.gate = undefined;
        world.events.refuses = false;
        // GitHub is asked again an hour after an answer that was lost.
        for (let ticks = 0; ticks < 6; ticks++) {
          clock += 15 * MINUTE;
          await world.tick();
        }
        const rows = await worked();
        expect([at, rows.length, rows.every(({ times }) => times === 1)]).toEqual([at, 12, true]);
        expect([at, await statusOf('stripe')]).toMatchObject([at, { found: 5, missing: 0, problem: null }]);
        const github = await statusOf('github');
        expect([at, github]).toMatchObject([at, { missing: 0, problem: null }]);
        // The count is noted before GitHub is asked.
        expect(github?.found).toBeGreaterThanOrEqual(5);
        expect(await sql('select from webhooks.events where status <> $1', ['done'])).toHaveLength(0);
        vi.restoreAllMocks();
        if (requests < at) {
          expect(at).toBeGreaterThan(10);
          break;
        }
      }
    });
  }

  it('is not begun again after it has killed its isolate three times, and another message of the batch is worked', async () => {
    world = new World();
    await world.stripeSends('evt_1');
    const [ticket] = world.events.tickets.splice(0);
    const reconcile = new FakeMessage('', 4, { version: 1, reconcile: 'stripe' });
    const messages = [reconcile, new FakeMessage('', 1, ticket)];
    await world.consumer().queue({ queue: 'events', messages, retryAll() {} } as unknown as MessageBatch, world.env);
    expect(messages.map(({ settled }) => settled)).toEqual(['acked', 'acked']);
    expect(await worked()).toHaveLength(1);
    expect(await statusOf('stripe')).toBeUndefined();
    // A queue may also have given it up: the next tick sends another.
    const dead = new FakeMessage('', 1, { version: 1, reconcile: 'stripe' });
    await world
      .consumer()
      .queue({ queue: 'events-dead', messages: [dead], retryAll() {} } as unknown as MessageBatch, world.env);
    expect(dead.settled).toBe('acked');
  });
});

it('runs that overlap claim each event once and count it once', async () => {
  world = new World();
  await known();
  world.isAway = true;
  for (let n = 0; n < 400; n++) await world.stripeSends(`evt_${n}`, { created: Math.floor(clock / 1000) + n });
  world.stripe.events.sort((a, b) => a.created - b.created);
  clock += 3 * HOUR;
  await Promise.all(Array.from({ length: 4 }, () => world.deliver([{ version: 1, reconcile: 'stripe' }])));
  await world.drain();
  expect(await statusOf('stripe')).toMatchObject({ found: 400, problem: null, asked_at: now().toISOString() });
  const rows = await worked();
  expect([rows.length, rows.every(({ times }) => times === 1)]).toEqual([402, true]);
});

describe('an API that lies', () => {
  it('about the order and the number of its events, in pages that move, harms nothing', async () => {
    world = new World();
    await known();
    world.isAway = true;
    const sent: StripeEvent[] = [];
    for (let n = 0; n < 150; n++) sent.push(await world.stripeSends(`evt_${n}`));
    clock += 2 * HOUR;
    // Each page has the end of the page before, and one event twice.
    let offset = 0;
    world.stripe.instead = (url) => {
      if (!url.searchParams.getAll('types[]').includes('invoice.paid')) return undefined;
      const first = world.stripe.events.slice(0, 1);
      const data = [...first, ...sent.slice(Math.max(0, offset - 10), offset + 90), ...sent.slice(offset, offset + 1)];
      offset += 90;
      return Response.json({ has_more: offset < 150, data });
    };
    await world.tick();
    expect(await statusOf('stripe')).toMatchObject({ listed: 151, missing: 150, found: 150 });
    const rows = await worked();
    expect([rows.length, rows.every(({ times }) => times === 1)]).toEqual([152, true]);
  });

  it.each<[string, () => unknown, string | RegExp]>([
    ['no array', () => ({ data: [] }), 'list did not return an array: return the events, or "too many"'],
    ['nothing', () => undefined, 'list did not return an array: return the events, or "too many"'],
    ['that it is too many, for each second', () => 'too many', 'list returned "too many" for one second'],
    [
      'an error with a secret',
      () => Promise.reject(new Error('Invalid URL: rk_live_of_acme')),
      'Error: Invalid URL: [STRIPE_API_KEY]',
    ],
    ['what is no error', () => Promise.reject('no'), 'the thrown value is not an Error'],
    [
      'an error that nobody can read',
      () =>
        Promise.reject(
          new Proxy(new Error(), {
            get: () => {
              throw 1;
            },
          }),
        ),
      'the thrown value cannot be read',
    ],
  ])('about everything (%s): the source fails, and says why', async (_, list, reason) => {
    world = new World({ stripe: { list: list as ListedEvents['list'] } });
    await world.tick();
    clock += 2 * HOUR;
    for (let runs = 0; runs < 5; runs++) await world.tick();
    expect(await statusOf('stripe')).toMatchObject({ problem: 'failed', last_error: reason, found: 0 });
    expect(await worked()).toHaveLength(0);
  });

  it('with events that cannot be used: what can be is claimed, and the log counts the others by reason', async () => {
    const good = (id: string, more: object = {}) => ({
      id,
      type: 'invoice.paid',
      created: (START + 10 * MINUTE) / 1000,
      ...more,
    });
    const circle: Record<string, unknown> = good('evt_circle');
    circle.self = circle;
    world = new World({
      stripe: {
        list: async () => [
          good('evt_known'),
          good('evt_1'),
          null,
          7,
          'text',
          [good('evt_2')],
          circle,
          good('evt_3', { big: 1n }),
          good(''),
          good('..'),
          good('a\u0000b'),
          good('x'.repeat(600)),
          good('evt_4', { id: undefined }),
          good('evt_5', { type: 'strange' }),
          good('evt_6', { type: 7 }),
          good('evt_7', { created: 'yesterday' }),
          // Not in the window: taken later, or never.
          good('evt_8', { created: (START - HOUR) / 1000 }),
          good('evt_9', { created: (START + DAY) / 1000 }),
          good('evt_nul', { text: '\u0000 \ud800' }),
        ],
      },
    });
    await known();
    clock += 2 * HOUR;
    await world.tick();
    expect((await worked()).filter(({ source }) => source === 'stripe').map(({ id }) => id)).toEqual([
      'evt_1',
      'evt_known',
      'evt_nul',
    ]);
    expect(world.linesOf('stripe', 'unusable').map(({ reason, events }) => [reason, events])).toEqual([
      ['not a JSON object', 6],
      ['no usable id', 5],
      ['another type', 2],
      ['no time', 1],
    ]);
    expect(await statusOf('stripe')).toMatchObject({ listed: 3, missing: 2, problem: null });
  });

  it('of GitHub’s, in pages that never end or lead elsewhere: the token stays here, and the source fails', async () => {
    world = new World();
    await known();
    clock += 2 * HOUR;
    const page = (next: string) => () => {
      const item = {
        id: 1,
        guid: 'guid-known',
        delivered_at: new Date(clock - HOUR / 2).toISOString(),
        redelivery: false,
      };
      return Response.json([item], { headers: { link: `<${next}>; rel="next"` } });
    };
    world.github.instead = page('https://evil.example.com/orgs');
    await world.tick();
    expect(await statusOf('github')).toMatchObject({
      problem: 'failed',
      last_error: "GitHub's answer is not a list of deliveries",
    });
    world.github.instead = page('https://api.github.com/again');
    clock += 15 * MINUTE;
    await world.tick();
    expect(await statusOf('github')).toMatchObject({
      problem: 'failed',
      last_error: 'the API lists more than 100 pages',
    });
  });
});

describe('before the first claim', () => {
  it('an event that is known here must be listed: with the key of another account nothing is claimed, and somebody is alerted', async () => {
    world = new World();
    await world.tick();
    clock += MINUTE;
    world.isAway = true;
    await world.stripeSends('evt_1');
    await world.github.deliver('guid-1', '{}');
    clock += 2 * HOUR;
    await world.tick();
    expect(await worked()).toEqual([]);
    for (const source of ['stripe', 'github']) {
      expect(await statusOf(source)).toMatchObject({
        problem: 'unconfirmed',
        found: 0,
        complete_until: new Date(START).toISOString(),
      });
    }
    const alerts = await takeAlerts(database.consumer, now(), 60, ['stripe', 'github']);
    expect(alerts.map(({ condition, source }) => `${condition} ${source}`)).toEqual([
      'unconfirmed github',
      'unconfirmed stripe',
    ]);

    // The operator says that the keys are right.
    world.isAway = false;
    for (const source of ['stripe', 'github']) await restartReconcile(database.ops, source, { accept: true });
    clock += 15 * MINUTE;
    await world.tick();
    expect((await worked()).map(({ id }) => id)).toEqual(['guid-1', 'evt_1']);
    expect(await statusOf('stripe')).toMatchObject({ problem: null, found: 1 });
  });

  it('nothing is passed over: what was sent before the first known event is claimed once that is listed', async () => {
    world = new World();
    await world.tick();
    world.isAway = true;
    for (let n = 0; n < 400; n++) await world.stripeSends(`evt_${n}`, { created: clock / 1000 + n });
    clock += HOUR;
    await world.stripeSends('evt_late');
    world.isAway = false;
    clock += HOUR;
    await world.tick();
    expect(await statusOf('stripe')).toMatchObject({ problem: 'unconfirmed', found: 0 });
    const [late] = world.stripe.events.slice(-1);
    world.stripe.events.pop();
    clock += MINUTE;
    await world.stripeSends('evt_known');
    if (late) world.stripe.events.push(late);
    world.stripe.events.sort((a, b) => a.created - b.created);
    clock += 2 * HOUR;
    await world.tick();
    expect(await statusOf('stripe')).toMatchObject({ problem: null, found: 401 });
  });

  it('and after the key has changed, it is checked again; with the confirmed key, a window of which nothing is known is an outage', async () => {
    world = new World();
    await known();
    clock += 2 * HOUR;
    await world.tick();
    expect(await statusOf('stripe')).toMatchObject({ problem: null, listed: 1 });
    world.isAway = true;
    await world.stripeSends('evt_1');
    world.stripe.instead = () => Response.json({ has_more: false, data: world.stripe.events.slice(-1) });
    world.vars = { ...world.vars, STRIPE_API_KEY: 'rk_live_of_another' };
    clock += 2 * HOUR;
    await world.tick();
    expect(await statusOf('stripe')).toMatchObject({ problem: 'unconfirmed', found: 0 });
    expect((await worked()).some(({ id }) => id === 'evt_1')).toBe(false);
    world.vars = { ...world.vars, STRIPE_API_KEY: 'rk_live_of_acme' };
    await world.tick();
    expect(await statusOf('stripe')).toMatchObject({ problem: null, found: 1 });
  });
});

it('a key that is not confirmed, and lists nothing, passes over nothing; and what has failed before is over', async () => {
  world = new World();
  await world.tick();
  world.stripe.instead = () => new Response('', { status: 500 });
  clock += 2 * HOUR;
  await world.tick();
  expect(await statusOf('stripe')).toMatchObject({
    problem: 'failed',
    last_error: expect.stringContaining('answered 500'),
  });
  world.stripe.instead = () => Response.json({ data: [], has_more: false });
  clock += HOUR;
  await world.tick();
  const nothing = {
    problem: null,
    listed: 0,
    asked_at: now().toISOString(),
    complete_until: new Date(START).toISOString(),
  };
  for (const source of ['stripe', 'github']) expect(await statusOf(source)).toMatchObject(nothing);
});

describe('the window', () => {
  it('begins at the deployment, and ends an hour ago: what is on its way is not missing', async () => {
    world = new World();
    world.isAway = true;
    await world.stripeSends('evt_before', { created: START / 1000 - 60 });
    world.isAway = false;
    await known();
    world.isAway = true;
    clock += HOUR;
    await world.stripeSends('evt_on_its_way');
    await world.github.deliver('guid-on-its-way', '{}');
    clock += 59 * MINUTE;
    await world.tick();
    expect(await statusOf('stripe')).toMatchObject({ missing: 0, found: 0 });
    expect(await statusOf('github')).toMatchObject({ missing: 0, found: 0 });
    clock += 2 * MINUTE;
    await world.tick();
    expect(await statusOf('stripe')).toMatchObject({ missing: 1, found: 1 });
    expect((await worked()).map(({ id }) => id)).toEqual(['guid-known', 'evt_known', 'evt_on_its_way']);
  });

  it('holds nothing that is older than DEDUPE_DAYS minus one, although an operator asks for it: it could run again', async () => {
    world = new World();
    await known();
    clock += 40 * DAY;
    await world.stripeSends('evt_recent');
    await world.drain();
    // As prune does with what is older than DEDUPE_DAYS.
    await sql(`delete from webhooks.events where event_id = 'evt_known'`);
    clock += 2 * HOUR;
    await restartReconcile(database.ops, 'stripe', { since: new Date(START - 300 * DAY), accept: false });
    await world.tick();
    expect(await statusOf('stripe')).toMatchObject({ found: 0, problem: null, listed: 1 });
    const rows = await worked();
    expect(rows.every(({ times }) => times === 1)).toBe(true);
  });

  it('is set back by an operator, also while a run works: what was lost before is claimed at the next tick', async () => {
    world = new World();
    world.isAway = true;
    clock = START - 3 * DAY;
    await world.stripeSends('evt_lost');
    world.isAway = false;
    clock = START;
    await known();
    clock += 2 * HOUR;
    world.stripe.instead = () => {
      void restartReconcile(database.ops, 'stripe', { since: new Date(START - 7 * DAY), accept: false });
      world.stripe.instead = undefined;
      return undefined;
    };
    await world.tick();
    clock += 15 * MINUTE;
    await world.tick();
    expect((await worked()).map(({ id }) => id)).toContain('evt_lost');
    expect(await statusOf('stripe')).toMatchObject({ found: 1, found_since: new Date(START - 3 * DAY).toISOString() });
  });

  it('is asked for as often as the source says', async () => {
    const asked: number[] = [];
    const list = async () => {
      asked.push((clock - START) / HOUR);
      return [];
    };
    world = new World({ stripe: { every: '6 hours', list } });
    await beginReconcile(database.consumer, 'stripe', now());
    await recordWindow(
      database.consumer,
      'stripe',
      // A key that was confirmed: that of a kind without a key.
      { since: now(), until: now(), isLast: true, listed: 0, missing: 0, confirmedKey: null, delivered: null },
      now(),
    );
    await restartReconcile(database.ops, 'stripe', { accept: true });
    for (; clock < START + 14 * HOUR; clock += 15 * MINUTE) await world.tick();
    expect(asked).toEqual([1.25, 7.25, 13.25]);
  });
});

describe('an event of the API', () => {
  it('is parked if its mode, account or version is not that of the endpoint, and a person may retry it', async () => {
    world = new World();
    await known();
    world.isAway = true;
    await world.stripeSends('evt_same');
    await world.stripeSends('evt_test', { livemode: false });
    await world.stripeSends('evt_old', { api_version: '2019-02-19' });
    clock += 2 * HOUR;
    await world.tick();
    expect((await worked()).map(({ id }) => id)).toEqual(['guid-known', 'evt_known', 'evt_same']);
    const parked = await sql<{ event_id: string }>(
      `select event_id, failure, failed_paths, last_error from webhooks.events where status = 'parked' order by 1`,
    );
    expect(parked).toEqual([
      {
        event_id: 'evt_old',
        failure: 'schema',
        failed_paths: ['api_version'],
        last_error: expect.stringContaining('api_version is "2019-02-19" instead of "2025-08-27.basil"'),
      },
      {
        event_id: 'evt_test',
        failure: 'schema',
        failed_paths: ['livemode'],
        last_error: expect.stringContaining('livemode is false instead of true'),
      },
    ]);
  });

  it('is known when its delivery comes after all, although the bodies differ', async () => {
    world = new World();
    await known();
    world.isAway = true;
    const event = await world.stripeSends('evt_1');
    clock += 2 * HOUR;
    await world.tick();
    world.isAway = false;
    world.stripe.events.pop();
    await world.stripeSends('evt_1', { ...event, data: { object: { written: 'in another way' } } });
    await world.drain();
    const rows = await sql(`select from webhooks.events where event_id like 'evt_1%'`);
    expect([rows.length, (await worked()).every(({ times }) => times === 1)]).toEqual([1, true]);
  });

  it('has the order key of its source, and is marked as one that was reconciled', async () => {
    const sources = { ...SOURCES, stripe: { ...SOURCES.stripe, orderKey: '{json:data.object.customer}' } } as const;
    world = new World(undefined, sources);
    await known();
    world.isAway = true;
    for (const id of ['evt_1', 'evt_2']) await world.stripeSends(id);
    clock += 2 * HOUR;
    await world.tick();
    const rows = await sql<{ order_key: string; order_place: number; status: string; mark: string }>(
      `select order_key, order_place, status, headers ->> 'claimcheck-reconciled' as mark
       from webhooks.events join webhooks.bodies using (source, event_id) where event_id in ('evt_1', 'evt_2') order by event_id`,
    );
    const same = { order_key: 'cus_1', status: 'done', mark: expect.stringContaining('2026-03-01T10:01') };
    expect(rows).toEqual([
      { ...same, order_place: 0 },
      { ...same, order_place: 1 },
    ]);
  });

  it('that somebody else has claimed at this moment is not counted', async () => {
    await beginReconcile(database.consumer, 'stripe', now());
    const request = { source: 'stripe', events: [newEvent('evt_1'), newEvent('evt_2')], receivedAt: now() };
    await claimMissing(database.consumer, { ...request, events: [newEvent('evt_1')] }, [], {
      stamp: 'one',
      holds: true,
    });
    await claimMissing(database.consumer, request, [{ eventId: 'evt_1', error: 'other', paths: [] }], {
      stamp: 'two',
      holds: true,
    });
    expect(await statusOf('stripe')).toMatchObject({ found: 2 });
    expect(await sql(`select from webhooks.events where status = 'parked'`)).toHaveLength(0);
  });
});

describe('deliveries of GitHub’s', () => {
  it('that we refuse are asked for three times with growing waits, and then given up', async () => {
    world = new World();
    await known();
    const refused: number[] = [];
    world.isAway = true;
    await world.github.deliver('guid-refused', '{}');
    const sentAt = clock;
    for (; clock < sentAt + 12 * HOUR; clock += 15 * MINUTE) {
      const before = world.github.deliveries.length;
      await world.tick();
      if (world.github.deliveries.length > before) refused.push((clock - sentAt) / HOUR);
    }
    expect(refused).toEqual([1.25, 2.25, 6.25]);
    expect(world.linesOf('github', 'given_up')).toMatchObject([{ event_id: 'guid-refused' }]);
    expect(await statusOf('github')).toMatchObject({ found: 1, missing: 0, problem: null });
  });

  it('that cannot be sent again keep no other from being sent', async () => {
    world = new World();
    await known();
    world.isAway = true;
    for (const guid of ['guid-1', 'guid-2']) await world.github.deliver(guid, `{"guid":"${guid}"}`);
    world.isAway = false;
    clock += 2 * HOUR;
    world.github.instead = (url) => {
      const isFirst = url.pathname.endsWith(`/${world.github.deliveries[1]?.id}/attempts`);
      return isFirst ? Response.json({}, { status: 422 }) : undefined;
    };
    await world.tick();
    expect((await worked()).map(({ id }) => id)).toEqual(['guid-2', 'guid-known', 'evt_known']);
    expect(world.linesOf('github', 'not_redelivered')).toMatchObject([
      { event_id: 'guid-1', reason: expect.stringContaining('422') },
    ]);
  });

  it('are not asked for again before the time that its limit names', async () => {
    world = new World();
    await known();
    clock += 2 * HOUR;
    const resetAt = clock + 40 * MINUTE;
    let calls = 0;
    world.github.instead = () => {
      calls++;
      const headers = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(resetAt / 1000) };
      return new Response('{}', { status: 403, headers });
    };
    for (let ticks = 0; ticks < 3; ticks++, clock += 15 * MINUTE) await world.tick();
    expect(calls).toBe(1);
    expect(await statusOf('github')).toMatchObject({ problem: 'failed', not_before: new Date(resetAt).toISOString() });
  });
});

describe('an API that fails', () => {
  it('stops neither sweep nor prune, waits as long as it is told to, and is an alert after a day', async () => {
    world = new World();
    await known();
    clock += 2 * HOUR;
    const asked: number[] = [];
    const from = clock;
    world.stripe.instead = () => {
      asked.push((clock - from) / HOUR);
      return new Response('', { status: 429, headers: { 'retry-after': '7200' } });
    };
    const alerts = async () =>
      (await takeAlerts(database.consumer, now(), 60, ['stripe'])).map(
        ({ condition, state }) => `${condition} ${state}`,
      );
    await world.tick();
    expect(world.lines.slice(-3).map(({ step, outcome }) => `${step} ${outcome}`)).toContain('reconcile failed');
    expect(world.lines.some(({ step, outcome }) => step === 'prune' && outcome === 'done')).toBe(true);
    for (; clock < from + 23 * HOUR; clock += HOUR) await world.tick();
    expect(asked).toEqual(Array.from({ length: 12 }, (_, n) => 2 * n));
    expect(await alerts()).toEqual([]);
    clock += 2 * HOUR;
    expect(await alerts()).toEqual(['not_asked begun']);
    world.stripe.instead = undefined;
    await world.tick();
    expect(await statusOf('stripe')).toMatchObject({ problem: null, last_error: null, not_before: null });
  });

  it('because its secret is not set says so, and its sentence names the secret', async () => {
    world = new World();
    world.vars = {};
    await world.tick();
    expect(await statusOf('stripe')).toMatchObject({
      problem: 'failed',
      last_error: 'the secret STRIPE_API_KEY is not set',
    });
  });

  it('is given up after 30 s, so that the next source has its turn', async () => {
    const wait = globalThis.setTimeout;
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((then: () => void, ms = 0) =>
      wait(then, ms === 30_000 ? 20 : ms)) as typeof setTimeout);
    world = new World({ stripe: { list: () => new Promise(() => {}) } });
    await world.tick();
    clock += 2 * HOUR;
    await world.tick();
    expect(await statusOf('stripe')).toMatchObject({ last_error: "the provider's API took longer than 30 s" });
  });
});

it('a queue that refuses the messages is in the log, and the next tick sends others', async () => {
  world = new World();
  world.events.refuses = true;
  await world.cron();
  expect(world.lines).toContainEqual({ step: 'reconcile', outcome: 'not_sent' });
  expect(world.lines.at(-1)).toMatchObject({ step: 'prune', outcome: 'done' });
});

describe('a definition', () => {
  const list: ListedEvents = { list: async () => [] };
  const { occurredAt: _, ...withoutTime } = stripe;
  it.each<[string, Source, ListedEvents | ListedDeliveries, string]>([
    ['ids in a header', { provider: github, types: ['push'] }, list, 'its ids are not in the body'],
    ['ids made of the content', { provider: stripe, types: ['a'], dedupe: 'content' }, list, 'made from the content'],
    [
      'ids made of the content, for redeliveries',
      { provider: github, types: ['push'], dedupe: 'content' },
      githubDeliveries({ hook: 'orgs/acme/hooks/1', token: 'T' }),
      'made from the content',
    ],
    [
      'ids that are not signed',
      { provider: { ...stripe, id: { ...stripe.id, signed: false } }, types: ['a'] },
      list,
      'its ids are not signed',
    ],
    ['no time in the body', { provider: withoutTime, types: ['a'] }, list, 'its bodies hold no time'],
    [
      'several events in a delivery',
      { provider: { ...stripe, batch: { each: ['*'] } }, types: ['a'] },
      list,
      'its deliveries hold several events',
    ],
    ['no types', { provider: stripe, types: [] }, list, 'it names no types'],
  ])('is refused for a source with %s', (_, source, kind, why) => {
    expect(() => defineReconcile({ one: source }, { one: kind })).toThrow(why);
  });

  it('names the sources that are reconciled, and a message for another one does nothing', async () => {
    const reconcile = defineReconcile(SOURCES, { stripe: list });
    expect(reconcile.sources).toEqual(['stripe']);
    world = new World();
    expect(await reconcile.run({ reconcile: 'another' }, world.env, { now, log: () => {} })).toBeUndefined();
  });
});
