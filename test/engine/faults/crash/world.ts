import { createConsumer } from '../../../../src/consumer/consumer.ts';
import { createReceiver } from '../../../../src/receiver/receive.ts';
import { learnPassword, learnVariables, searchedLog } from '../../canaries/canaries.ts';
import { randomFrom } from '../random.ts';
import { createHandlers, effects, sources } from './app.ts';
import { Bindings, Context, failed, type Queues, SECRET } from './bindings.ts';
import { type Fault, Interleaving, type Outcome, Run } from './interleaving.ts';
import type { Lane } from './lanes.ts';
import type { NeonInProcess } from './neon.ts';
import { Outside } from './outside.ts';
import { type Due, Providers } from './providers.ts';
import { AdversarialQueue } from './queue.ts';
import type { Scenario } from './scenarios.ts';

const MINUTE = 60_000;

/** Any time would do, because nothing reads another clock. */
export const START = Date.UTC(2027, 0, 1);

/** Nothing happens in time. So several messages are due at once, and make up a batch or several. */
const MAX_LATE_MS = 10_000;

/** As in wrangler.consumer.toml. */
const BATCH = 100;
const EFFECTS_BATCH = 6;
const DEAD_RETRIES = 100;

type Fetch = (request: Request, env: Env, ctx: ExecutionContext) => Response | Promise<Response>;

/** A deliberate one, to see that the check finds it. */
export interface Mistake {
  readonly receiver?: (real: Fetch) => Fetch;
  readonly hasNoCron?: true;
}

export interface WorldOptions {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly faults: readonly Fault[];
  readonly mistake: Mistake | undefined;
  readonly databaseUrls: Lane['databaseUrls'];
  readonly neon: NeonInProcess;
  /** When the earliest pending event or effect is due, if there is one. */
  readonly nextDue: () => Promise<Date | undefined>;
}

/** Providers, receiver and consumer with its cron, the queues and the outside, on a clock that only this code moves. */
export class World {
  readonly interleaving: Interleaving;
  readonly outside: Outside;
  readonly providers: Providers;
  readonly #options: WorldOptions;
  readonly #random: () => number;
  readonly #queues: Queues;
  readonly #bindings: Bindings;
  readonly #consumer: ReturnType<typeof createConsumer>;
  #receiver: Fetch;
  #now = START;
  #ticks: number[];
  #runs = 0;
  #lastTickSucceeded = false;

  constructor(options: WorldOptions) {
    const { scenario, seed, faults, neon, databaseUrls } = options;
    this.#options = options;
    learnVariables({ SECRET });
    for (const url of Object.values(databaseUrls)) learnPassword(url);
    // Three sequences, so that a fault changes nothing but what comes after it.
    this.#random = randomFrom(seed * 3);
    this.interleaving = new Interleaving(this.#random, faults);
    this.outside = new Outside(this.interleaving, neon, randomFrom(seed * 3 + 1));
    this.#queues = this.#createQueues(scenario.maxRetries, seed % 2 === 0);
    this.#bindings = new Bindings(this.interleaving, this.#queues, databaseUrls);
    this.#receiver = this.#createReceiver();
    this.#consumer = createConsumer({
      handlers: createHandlers(),
      sources,
      effects,
      now: () => new Date(this.#now),
      random: randomFrom(seed * 3 + 2),
      log: searchedLog,
      handlerMs: 30_000,
      effectMs: 10_000,
    });
    this.#ticks = scenario.ticks.map((minute) => START + minute * MINUTE);
    this.providers = new Providers(scenario.sendings, START, this.#random);
  }

  /** Resolves when nothing is left to do: everything is answered, delivered, worked, sent, pruned and alerted about. */
  untilQuiet(): Promise<void> {
    return this.interleaving.untilQuiet(
      () => this.#startable(),
      () => this.#later(),
    );
  }

  /** What can begin now: a delivery, a batch, or the cron. */
  #startable(): (() => void)[] {
    // So that no two moments are the same.
    this.#now += 1;
    const due = this.providers.due.filter(({ at }) => at <= this.#now);
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
    const messages = Object.values(this.#queues).flatMap((queue: AdversarialQueue) => queue.messages);
    const times = [
      ...this.providers.due.map(({ at }) => at),
      ...this.#ticks,
      ...messages.map(({ visibleAt }) => visibleAt),
    ];
    if (times.length === 0) {
      const due = await this.#options.nextDue();
      if (due === undefined && this.#lastTickSucceeded) return false;
      times.push(due?.getTime() ?? this.#now);
      this.#ticks = [...times];
    }
    this.#now = Math.max(this.#now, Math.min(...times)) + Math.floor(this.#random() * MAX_LATE_MS);
    return true;
  }

  #deliver(due: Due): void {
    const { events, postgresAway = false } = due.sending;
    const run = this.#newRun(`delivery of ${events.map(({ id }) => id).join('+')}`, postgresAway && due.attempt === 1);
    const ctx = new Context();
    let answered: number | undefined;
    const work = async () => {
      const request = await this.providers.send(due, this.#now);
      const { status } = await this.#receiver(request, this.#bindings.receiver(run), ctx.forWorker);
      const arrive = async () => {
        answered = status;
      };
      await this.interleaving.step(run, `answer ${status}`, arrive, failed);
      await ctx.settled();
    };
    this.providers.begin(due);
    this.#start(run, work, (outcome) => {
      // A new isolate: what the old one held in memory is gone.
      if (outcome === 'ended') this.#receiver = this.#createReceiver();
      this.providers.answered(due, answered, this.#now);
    });
  }

  #consume(queue: AdversarialQueue): void {
    const run = this.#newRun(`batch of ${queue.name}`);
    const taken = queue.take();
    const ctx = new Context();
    const work = async () => {
      const batch = this.#bindings.batch(run, queue, taken);
      await this.#consumer.queue?.(batch, this.#bindings.consumer(run), ctx.forWorker);
      await ctx.settled();
    };
    this.#start(run, work, (outcome) => queue.giveBack(taken, outcome === 'resolved'));
  }

  #tick(): void {
    this.#ticks.shift();
    const run = this.#newRun('cron');
    const controller = { scheduledTime: this.#now, cron: '*/15 * * * *', noRetry() {} };
    const work = async () => {
      const ctx = new Context().forWorker;
      if (!this.#options.mistake?.hasNoCron) {
        await this.#consumer.scheduled?.(controller, this.#bindings.consumer(run), ctx);
      }
    };
    this.#start(run, work, (outcome) => {
      // It also resolves if the alert endpoint didn't answer. The next tick alerts again then.
      this.#lastTickSucceeded = outcome === 'resolved' && !run.hit;
    });
  }

  #newRun(what: string, postgresAway = false): Run {
    return new Run(`run ${++this.#runs}, ${what}`, postgresAway);
  }

  #start(run: Run, work: () => Promise<void>, after: (outcome: Outcome) => void): void {
    const call: typeof fetch = (input, init) => this.outside.fetch(run, String(input), init ?? {});
    this.interleaving.start(run, call, work, (outcome) => {
      // What it did may be news for the cron.
      this.#lastTickSucceeded = false;
      after(outcome);
    });
  }

  #createReceiver(): Fetch {
    const { receiver = (real: Fetch) => real } = this.#options.mistake ?? {};
    const app = createReceiver({ sources, now: () => new Date(this.#now), log: searchedLog });
    return receiver((request, env, ctx) => app.fetch(request, env, ctx));
  }

  #createQueues(maxRetries: number, repeats: boolean): Queues {
    const create = (name: string, maxBatchSize: number, retries: number, dead?: AdversarialQueue) => {
      const options = { name, maxBatchSize, maxRetries: retries, repeats, ...(dead && { dead }) };
      return new AdversarialQueue(options, this.#random, () => this.#now);
    };
    const deadEvents = create('dead-events', BATCH, DEAD_RETRIES);
    const deadEffects = create('dead-effects', BATCH, DEAD_RETRIES);
    return {
      events: create('events', BATCH, maxRetries, deadEvents),
      effects: create('effects', EFFECTS_BATCH, maxRetries, deadEffects),
      deadEvents,
      deadEffects,
    };
  }
}
