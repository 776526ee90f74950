import { NeonError } from '../../../../scripts/local/neon-error.ts';
import { createConsumer } from '../../../../src/consumer/worker.ts';
import { createReceiver } from '../../../../src/receiver/app.ts';
import { tick } from '../../../../src/receiver/cron.ts';
import { secretName } from '../../../../src/receiver/secrets.ts';
import { signers } from '../../signatures.ts';
import { randomFrom } from '../random.ts';
import { type Call, createHandlers, effects, OUTSIDE_URL, sources } from './app.ts';
import { type Fault, Interleaving, type Outcome, Run } from './interleaving.ts';
import { type NeonInProcess, neonAnswer } from './neon.ts';
import { AdversarialQueue, type Taken } from './queue.ts';
import type { Scenario, Sending } from './scenarios.ts';

const MINUTE = 60_000;

/** 2027-01-01: any time would do, because nothing reads another clock. */
export const START = Date.UTC(2027, 0, 1);

/** Nothing happens in time. So several messages are due at once, and make up a batch or several. */
const MAX_LATE_MS = 10_000;

const ALERT_URL = 'https://alerts.example.com/';

/** One secret per source. Nobody else has to guess them. */
const SECRET = 'whsec_Y3Jhc2ggdGVzdHMgb2YgdGhlIGVuZ2luZQ==';

/** How a provider signs. */
const SIGNERS = { stripe: signers.stripe, github: signers.github, batch: signers.gethook };

interface Due {
  readonly sending: Sending;
  readonly at: number;
  readonly attempt: number;
}

export interface WorldOptions {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly faults: readonly Fault[];
  readonly databaseUrl: string;
  readonly neon: NeonInProcess;
  /** When the earliest pending event or effect is due, if there is one. */
  readonly nextDue: () => Promise<Date | undefined>;
  readonly mistake?: Mistake;
}

/** A deliberate one, to see that the check finds it. */
export interface Mistake {
  readonly receiver?: (real: Fetch) => Fetch;
  readonly tick?: typeof tick;
}

type Fetch = (request: Request, env: ReceiverEnv, ctx: ExecutionContext) => Response | Promise<Response>;

/** Providers, both Workers, the cron, the queues and the outside, on a clock that only this code moves. */
export class World {
  readonly interleaving: Interleaving;
  /** Of every event of a delivery that was answered 200. */
  readonly held = new Set<string>();
  /** Answers that no provider should ever get from us. */
  readonly unexpected: string[] = [];
  /** Payloads that were sent to the outside, by idempotency key. */
  readonly calls = new Map<string, { payloads: Set<string>; accepted: boolean }>();
  readonly #options: WorldOptions;
  readonly #random: () => number;
  readonly #mishap: () => number;
  readonly #queues: Record<'events' | 'effects' | 'deadEvents' | 'deadEffects', AdversarialQueue>;
  readonly #consumer: ReturnType<typeof createConsumer>;
  #receiver: Fetch;
  #now = START;
  #due: Due[];
  #ticks: number[];
  #runs = 0;
  #lastTickSucceeded = false;

  constructor(options: WorldOptions) {
    const { scenario, seed, faults } = options;
    this.#options = options;
    // Three sequences, so that a fault changes nothing but what comes after it.
    this.#random = randomFrom(seed * 3);
    this.#mishap = randomFrom(seed * 3 + 1);
    this.interleaving = new Interleaving(this.#random, faults);
    const queue = (name: string, maxBatchSize: number, maxRetries: number, dead?: AdversarialQueue) =>
      new AdversarialQueue({ name, maxBatchSize, maxRetries, ...(dead && { dead }) }, this.#random, () => this.#now);
    const deadEvents = queue('dead-events', 100, 100);
    const deadEffects = queue('dead-effects', 100, 100);
    this.#queues = {
      events: queue('events', 100, scenario.maxRetries, deadEvents),
      effects: queue('effects', 6, scenario.maxRetries, deadEffects),
      deadEvents,
      deadEffects,
    };
    this.#receiver = this.#createReceiver();
    this.#consumer = createConsumer({
      handlers: createHandlers(),
      effects,
      now: () => new Date(this.#now),
      random: randomFrom(seed * 3 + 2),
      log: () => {},
      handlerMs: 30_000,
      effectMs: 10_000,
    });
    this.#ticks = scenario.ticks.map((minute) => START + minute * MINUTE);
    this.#due = scenario.sendings.flatMap((sending) =>
      Array.from({ length: sending.times }, (_, n) => ({
        sending,
        at: START + (sending.atMinute + n) * MINUTE,
        attempt: n + 1,
      })),
    );
  }

  /** Resolves when nothing is left to do: everything is answered, delivered, worked, sent, pruned and alerted about. */
  untilQuiet(): Promise<void> {
    return this.interleaving.untilQuiet(
      () => this.#startable(),
      () => this.#later(),
    );
  }

  #startable(): (() => void)[] {
    // So that no two moments are the same.
    this.#now += 1;
    const due = this.#due.filter(({ at }) => at <= this.#now);
    const queues = Object.values(this.#queues).filter(({ visible }) => visible.length > 0);
    const tickAt = this.#ticks.find((at) => at <= this.#now);
    return [
      ...due.map((one) => () => this.#deliver(one)),
      ...queues.map((queue) => () => this.#consume(queue)),
      ...(tickAt === undefined ? [] : [() => this.#tick()]),
    ];
  }

  /** Moves the clock to the next thing that happens. When everything is done, one more tick of the cron is the last. */
  async #later(): Promise<boolean> {
    const messages = Object.values(this.#queues).flatMap(({ messages }) => messages);
    const times = [...this.#due.map(({ at }) => at), ...this.#ticks, ...messages.map(({ visibleAt }) => visibleAt)];
    if (times.length === 0) {
      const due = await this.#options.nextDue();
      if (due) times.push(Math.max(due.getTime(), this.#now));
      else if (!this.#lastTickSucceeded) times.push(this.#now);
      else return false;
      this.#ticks = times.slice();
    }
    this.#now = Math.max(this.#now, Math.min(...times)) + Math.floor(this.#random() * MAX_LATE_MS);
    return true;
  }

  #deliver(due: Due): void {
    this.#due = this.#due.filter((other) => other !== due);
    const { sending, attempt } = due;
    const { source, events } = sending;
    const run = this.#newRun(
      `delivery of ${events.map(({ id }) => id).join('+')}`,
      sending.postgresAway && attempt === 1,
    );
    const ctx = new Context();
    let answered = 0;
    const work = async () => {
      const now = new Date(this.#now);
      const { body, headers } = await SIGNERS[source](sending.body, {
        secret: SECRET,
        now,
        ...(sending.id && { id: sending.id }),
      });
      const request = new Request(`https://claimcheck.example.com/webhooks/${source}`, {
        method: 'POST',
        headers,
        body,
      });
      const { status } = await this.#receiver(request, this.#receiverEnv(run), ctx.forWorker);
      await this.interleaving.step(
        run,
        `answer ${status}`,
        async () => {
          answered = status;
        },
        failed,
      );
      await ctx.settled();
    };
    this.#start(run, work, (outcome) => {
      // A new isolate: what the old one held in memory is gone.
      if (outcome === 'ended') this.#receiver = this.#createReceiver();
      if (answered === 200) for (const { id } of events) this.held.add(JSON.stringify([source, id]));
      else if (answered !== 0 && answered !== 503) this.unexpected.push(`${run.name} was answered ${answered}`);
      const wait = this.#random() * 20 * MINUTE;
      if (answered !== 200) this.#due.push({ sending, at: this.#now + wait, attempt: attempt + 1 });
    });
  }

  #consume(queue: AdversarialQueue): void {
    const run = this.#newRun(`batch of ${queue.name}`);
    const taken = queue.take();
    const messages = taken.map((one) => this.#message(run, one));
    const batch = { queue: queue.name, messages } as unknown as MessageBatch;
    const ctx = new Context();
    const work = async () => {
      await this.#consumer.queue?.(batch, this.#consumerEnv(run), ctx.forWorker);
      await ctx.settled();
    };
    this.#start(run, work, (outcome) => queue.giveBack(taken, outcome === 'resolved'));
  }

  #tick(): void {
    this.#ticks.shift();
    const run = this.#newRun('cron');
    this.#start(
      run,
      () => (this.#options.mistake?.tick ?? tick)(this.#receiverEnv(run), new Date(this.#now), () => {}),
      (outcome) => {
        this.#lastTickSucceeded = outcome === 'resolved';
      },
    );
  }

  #newRun(what: string, postgresAway = false): Run {
    return new Run(`run ${++this.#runs}, ${what}`, postgresAway);
  }

  #start(run: Run, work: () => Promise<void>, after: (outcome: Outcome) => void): void {
    const call: typeof fetch = (input, init) => this.#fetch(run, String(input), init ?? {});
    this.interleaving.start(run, call, work, (outcome) => {
      // What it did may be news for the cron.
      this.#lastTickSucceeded = false;
      after(outcome);
    });
  }

  #createReceiver(): Fetch {
    const { receiver = (real: Fetch) => real } = this.#options.mistake ?? {};
    const createConsole = () => ({ fetch: () => new Response() });
    const app = createReceiver({ sources, now: () => new Date(this.#now), log: () => {}, createConsole });
    return receiver((request, env, ctx) => app.fetch(request, env, ctx));
  }

  #receiverEnv(run: Run): ReceiverEnv {
    const limit = { limit: async () => ({ success: true }) };
    return {
      ...Object.fromEntries(Object.keys(sources).map((name) => [secretName(name), SECRET])),
      DATABASE_URL: this.#options.databaseUrl,
      EVENTS: this.#binding(run, this.#queues.events),
      EFFECTS: this.#binding(run, this.#queues.effects),
      DEDUPE_DAYS: 30,
      BODY_DAYS: 7,
      ALERT_WEBHOOK_URL: ALERT_URL,
      // With the console, the receiver also counts deliveries.
      OPS_TOKEN: SECRET,
      OPS_SIGN_INS: limit,
      OPS_REQUESTS: limit,
    } as unknown as ReceiverEnv;
  }

  #consumerEnv(run: Run): ConsumerEnv {
    const { events, effects, deadEvents, deadEffects } = this.#queues;
    return {
      DATABASE_URL: this.#options.databaseUrl,
      EFFECTS: this.#binding(run, effects),
      EVENTS_QUEUE: events.name,
      EFFECTS_QUEUE: effects.name,
      EVENTS_DEAD_QUEUE: deadEvents.name,
      EFFECTS_DEAD_QUEUE: deadEffects.name,
    } as ConsumerEnv;
  }

  #binding(run: Run, queue: AdversarialQueue): Queue {
    const send = (bodies: unknown[]) =>
      this.interleaving.step(
        run,
        `send ${bodies.length} to ${queue.name}`,
        async () => {
          for (const body of bodies) queue.write(body);
        },
        failed,
      );
    const binding = {
      send: (body: unknown) => send([body]),
      sendBatch: (messages: Iterable<MessageSendRequest>) => send(Array.from(messages, ({ body }) => body)),
    };
    return binding as unknown as Queue;
  }

  #message(run: Run, taken: Taken): Message {
    const { id, body, sentAt, deliveries } = taken.stored;
    const settle = (how: string, settled: Taken['settled']) => {
      if (run.ended || taken.settled !== undefined) return;
      const fault = this.interleaving.point(run, `${how} ${id}`);
      if (fault === 'error') throw new Error('the queue did not take it');
      if (fault === undefined) taken.settled = settled;
    };
    return {
      id,
      body: structuredClone(body),
      timestamp: new Date(sentAt),
      attempts: deliveries,
      ack: () => settle('ack', 'acked'),
      retry: ({ delaySeconds = 0 } = {}) => settle('retry', delaySeconds),
    } as Message;
  }

  async #fetch(run: Run, url: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    const { interleaving } = this;
    if (headers.has('neon-connection-string')) {
      const name = `Neon, ${statementOf(String(init.body))}`;
      if (run.postgresAway) return this.#neonFails();
      return interleaving.step(
        run,
        name,
        () => this.#options.neon.answer(init),
        () => this.#neonFails(),
      );
    }
    const answer = url === OUTSIDE_URL ? () => this.#called(headers, String(init.body)) : () => new Response();
    return interleaving.step(
      run,
      `call ${url}`,
      async () => answer(),
      () => this.#callFails(),
    );
  }

  /** The other side of an effect. */
  #called(headers: Headers, payload: string): Response {
    const key = headers.get('idempotency-key') ?? 'none';
    const { fails } = JSON.parse(payload) as Call;
    const known = this.calls.get(key) ?? { payloads: new Set(), accepted: false };
    const isFirst = !this.calls.has(key);
    const status = fails === 'always' ? 400 : fails === 'once' && isFirst ? 503 : 200;
    known.payloads.add(payload);
    this.calls.set(key, { ...known, accepted: known.accepted || status === 200 });
    return new Response(null, { status });
  }

  /** The ways in which a request to Neon fails. */
  #neonFails(): Response {
    const ways = [
      networkError,
      timeout,
      () => new Response('<html>'),
      () => neonAnswer(new NeonError(500, 'Control plane request failed')),
      () => neonAnswer(new NeonError(400, 'connection closed')),
    ];
    return this.#oneOf(ways);
  }

  #callFails(): Response {
    return this.#oneOf([networkError, timeout, () => new Response(null, { status: 503 })]);
  }

  #oneOf(ways: readonly (() => Response)[]): Response {
    return (ways[Math.floor(this.#mishap() * ways.length)] ?? networkError)();
  }
}

function networkError(): never {
  throw new TypeError('fetch failed');
}

function timeout(): never {
  throw new DOMException('The operation was aborted due to timeout', 'TimeoutError');
}

function failed(): never {
  throw new Error('it failed');
}

/** Work that goes on after the answer is a part of the run. */
class Context {
  readonly #promises: Promise<unknown>[] = [];
  readonly forWorker = {
    waitUntil: (promise: Promise<unknown>) => void this.#promises.push(promise),
    passThroughOnException() {},
  } as ExecutionContext;

  async settled(): Promise<void> {
    for (const promise of this.#promises) await promise;
  }
}

/** The first words of a request's first statements, to tell the steps apart. */
function statementOf(body: string): string {
  const { query, queries = [{ query }] } = JSON.parse(body) as { query?: string; queries?: { query?: string }[] };
  return queries.map((one) => (one.query ?? '').replaceAll(/\s+/g, ' ').trim().slice(0, 30)).join('; ');
}
