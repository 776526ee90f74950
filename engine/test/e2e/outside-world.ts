// The Workers' surroundings in virtual time: queues with delays, the cron, the other side, and consumers that are killed.
import { AsyncLocalStorage } from 'node:async_hooks';
import { beforeEach, vi } from 'vitest';
import { createConsumer } from '../../src/consumer/consumer.ts';
import type { ConsumerDependencies } from '../../src/consumer/portions.ts';
import { defineEffect } from '../../src/kit/index.ts';
import { MESSAGE_VERSION } from '../../src/queue/tickets.ts';
import type { LogLine } from '../../src/shared/log.ts';
import { searchedLog } from '../canaries/canaries.ts';
import { type TestDatabase, useDatabase } from '../database.ts';
import { FakeMessage } from './in-node.ts';

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;

export const START = Date.parse('2026-03-01T08:00:00Z');

/** A database without events and pauses before each test, and what is in it. */
export function useOutages() {
  const database = useDatabase();
  const { sql } = database;
  beforeEach(async () => {
    await sql('delete from webhooks.events; delete from webhooks.pauses');
  });
  const statuses = async () => {
    const rows = await sql<{ status: string; n: number }>(
      'select status, count(*)::int as n from webhooks.effects group by 1',
    );
    return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
  };
  const pauses = () =>
    sql('select kind, host, paused_at is not null as paused, backlog from webhooks.pauses order by 1, 2');
  return { database, sql, statuses, pauses };
}

/** The settings of wrangler.consumer.toml. */
const BATCH = { events: 100, effects: 6 } as const;
const RETRY_DELAY_MS = 5 * SECOND;
const CRON_EVERY_MS = 15 * MINUTE;

interface Queued {
  readonly at: number;
  readonly body: unknown;
  readonly attempts: number;
}

/** A call to the other side. */
export interface Call {
  readonly at: number;
  readonly host: string;
  readonly path: string;
  readonly key: string;
  readonly status: number;
}

interface Options {
  readonly database: TestDatabase;
  readonly start: number;
  readonly effects?: ConsumerDependencies['effects'];
  readonly handlers?: ConsumerDependencies['handlers'];
  readonly sources?: ConsumerDependencies['sources'];
  /** What the other side answers. `refused`: the connection is. */
  readonly answer: (call: { readonly at: number; readonly url: URL; readonly key: string }) => Response | 'refused';
  /** How many consumers work at the same time. */
  readonly consumers?: number;
  /** How long a call takes. */
  readonly callMs?: number;
  /** How likely each request of a consumer is its last. */
  readonly killed?: number;
}

/** A run of a consumer. */
interface Run {
  isDead: boolean;
  readonly die: () => void;
}

/** Of all worlds: what was killed in one test must not go on in the next. */
const runs = new AsyncLocalStorage<Run>();
const send = globalThis.fetch;

export class OutsideWorld {
  clock: number;
  readonly calls: Call[] = [];
  readonly lines: LogLine[] = [];
  /** The longest that any message was delivered. */
  deliveries = 0;
  kills = 0;
  readonly waiting = { events: [] as Queued[], effects: [] as Queued[] };
  readonly #options: Options;
  readonly #sleepers: { readonly at: number; readonly wake: () => void }[] = [];
  #nextTick: number;
  #random = 1;
  /** To the database. They take no virtual time. */
  #requests = 0;

  constructor(options: Options) {
    this.#options = options;
    this.clock = options.start;
    this.#nextTick = options.start + CRON_EVERY_MS;
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
      await this.#maybeDie();
      const url = new URL(input instanceof Request ? input.url : String(input));
      if (url.hostname === '127.0.0.1' || url.hostname === 'localhost') {
        this.#requests++;
        const response = await send(input, init).finally(() => this.#requests--);
        await this.#maybeDie();
        return response;
      }
      const at = this.clock;
      const key = new Headers(init?.headers).get('idempotency-key') ?? url.pathname;
      const answered = options.answer({ at, url, key });
      this.calls.push({
        at,
        host: url.host,
        path: url.pathname,
        key,
        status: answered === 'refused' ? 0 : answered.status,
      });
      if (options.callMs) await this.sleep(options.callMs);
      if (answered === 'refused') throw new TypeError('fetch failed');
      Object.defineProperty(answered, 'url', { value: url.href });
      return answered;
    });
  }

  /** In [0, 1), the same in every run. */
  random = () => {
    this.#random = (this.#random * 48_271) % 2_147_483_647;
    return this.#random / 2_147_483_647;
  };

  now = () => new Date(this.clock);

  sleep = (ms: number) =>
    new Promise<void>((wake) => {
      this.#sleepers.push({ at: this.clock + ms, wake });
    });

  queue(name: 'events' | 'effects') {
    return {
      send: () => Promise.reject(new Error('not here')),
      metrics: () => Promise.reject(new Error('not here')),
      sendBatch: async (messages: Iterable<{ body: unknown; delaySeconds?: number }>) => {
        await this.#maybeDie();
        for (const { body, delaySeconds = 0 } of messages) {
          this.waiting[name].push({ at: this.clock + delaySeconds * SECOND, body, attempts: 1 });
        }
        await this.#maybeDie();
      },
    };
  }

  get env() {
    return {
      DATABASE_URL: this.#options.database.stack.workerUrls.consumer,
      EVENTS: this.queue('events'),
      EFFECTS: this.queue('effects'),
      EVENTS_QUEUE: 'events',
      EFFECTS_QUEUE: 'effects',
      EVENTS_DEAD_QUEUE: 'events-dead',
      EFFECTS_DEAD_QUEUE: 'effects-dead',
      DEDUPE_DAYS: 300,
      BODY_DAYS: 300,
    } as unknown as ConsumerEnv;
  }

  consumer() {
    const { effects = {}, handlers = {}, sources = {} } = this.#options;
    return createConsumer({
      handlers,
      sources,
      effects,
      now: this.now,
      random: this.random,
      sleep: this.sleep,
      handlerMs: 60_000,
      effectMs: 60_000,
      log: (line) => {
        searchedLog(line);
        this.lines.push(line);
      },
    });
  }

  /** Events that are done, each with one effect, and its ticket on the queue at its time. */
  async addEffects(kind: string, ids: readonly string[], at: (n: number) => number): Promise<void> {
    const times = ids.map((_, n) => new Date(at(n)).toISOString());
    await this.#options.database.sql(
      `with given as (select * from unnest($1::text[], $2::timestamptz[]) as given (id, at)),
       added as (
         insert into webhooks.events (source, event_id, type, received_at, due_at, status, finished_at, completions, attempts)
         select 'test', id, 'test', at, at, 'done', at, 1, 1 from given
       )
       insert into webhooks.effects (source, event_id, name, kind, payload, due_at)
       select 'test', id, 'post', $3, to_json(id)::text, at + interval '10 minutes' from given`,
      [ids, times, kind],
    );
    for (const [n, eventId] of ids.entries()) this.addTicket(eventId, at(n));
  }

  addTicket(eventId: string, at = this.clock): void {
    const body = { version: MESSAGE_VERSION, source: 'test', eventId, name: 'post' };
    this.waiting.effects.push({ at, body, attempts: 1 });
  }

  /** Works until then, or until nothing is on the queues any more. */
  async workUntil(end: number, { untilEmpty = false } = {}): Promise<void> {
    while (this.clock < end) {
      const next = Math.min(...this.waiting.events.map(({ at }) => at), ...this.waiting.effects.map(({ at }) => at));
      if (untilEmpty && next === Number.POSITIVE_INFINITY) return;
      this.clock = Math.max(this.clock, Math.min(next, this.#nextTick, end));
      if (this.clock >= end) return;
      if (this.clock >= this.#nextTick) {
        await this.#killable(() => this.consumer().scheduled({ scheduledTime: this.clock }, this.env));
        this.#nextTick += CRON_EVERY_MS;
      }
      await this.#round();
    }
  }

  /** As many batches as there are consumers, at the same time. */
  async #round(): Promise<void> {
    const batches: Promise<void>[] = [];
    for (let n = 0; n < (this.#options.consumers ?? 1); n++) {
      const name = n % 2 === 0 && this.#due('events').length > 0 ? 'events' : 'effects';
      const due = this.#due(name).slice(0, BATCH[name]);
      if (due.length === 0) continue;
      const taken = new Set(due);
      this.waiting[name] = this.waiting[name].filter((one) => !taken.has(one));
      batches.push(this.#deliver(name, due));
    }
    let isDone = false;
    const done = Promise.all(batches).finally(() => {
      isDone = true;
    });
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      const [sleeper] = this.#sleepers.sort((a, b) => a.at - b.at);
      if (!sleeper || this.#requests > 0) continue;
      this.#sleepers.shift();
      this.clock = Math.max(this.clock, sleeper.at);
      sleeper.wake();
    }
    await done;
  }

  #due(name: 'events' | 'effects'): Queued[] {
    return this.waiting[name].filter(({ at }) => at <= this.clock);
  }

  async #deliver(name: 'events' | 'effects', due: readonly Queued[]): Promise<void> {
    const messages = due.map(({ body, attempts }) => new FakeMessage('', attempts, body));
    const batch = { queue: name, messages, retryAll() {} } as unknown as MessageBatch;
    const isWhole = await this.#killable(() => this.consumer().queue(batch, this.env));
    for (const [n, message] of messages.entries()) {
      this.deliveries = Math.max(this.deliveries, message.attempts);
      if (isWhole && message.settled === 'acked') continue;
      const wait = isWhole && typeof message.settled === 'number' ? message.settled * SECOND : RETRY_DELAY_MS;
      const body = due[n]?.body;
      this.waiting[name].push({ at: this.clock + wait, body, attempts: message.attempts + 1 });
    }
  }

  /** Whether it was not killed. */
  async #killable(work: () => Promise<void>): Promise<boolean> {
    const { promise: dead, resolve: die } = Promise.withResolvers<false>();
    const run: Run = { isDead: false, die: () => die(false) };
    return runs.run(run, () =>
      Promise.race([
        work().then(
          () => !run.isDead,
          () => false,
        ),
        dead,
      ]),
    );
  }

  /** What a killed consumer would do next never happens. */
  async #maybeDie(): Promise<void> {
    const run = runs.getStore();
    if (!run) return;
    if (!run.isDead && this.random() < (this.#options.killed ?? 0)) {
      run.isDead = true;
      this.kills++;
      run.die();
    }
    if (run.isDead) await new Promise(() => {});
  }
}

/** An effect that is one call to this host. */
export const post = (host = 'mail.example.com') =>
  defineEffect<string>({
    send: (payload, { key, fetch }) =>
      fetch(`https://${host}/${payload}`, { method: 'POST', headers: { 'idempotency-key': key } }),
  });

export const ids = (count: number, name = 'event') => Array.from({ length: count }, (_, n) => `${name}_${n}`);
export const down = (status = 503, headers = {}) => new Response(null, { status, headers });
export const seconds = (from: number, to: number) => Math.round((to - from) / SECOND);
export const lastCall = ({ calls }: OutsideWorld) => Math.max(...calls.map(({ at }) => at));

/** The most calls that were begun within a second. */
export function mostPerSecond(calls: readonly { readonly at: number }[]): number {
  const times = calls.map(({ at }) => at).sort((a, b) => a - b);
  let first = 0;
  let most = 0;
  for (const [n, time] of times.entries()) {
    while ((times[first] ?? time) <= time - SECOND) first++;
    most = Math.max(most, n - first + 1);
  }
  return most;
}
