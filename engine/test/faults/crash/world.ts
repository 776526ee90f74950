import { createConsumer } from '../../../src/consumer/consumer.ts';
import { openDatabase } from '../../../src/db/client.ts';
import { prune } from '../../../src/db/sweep.ts';
import { learnPassword, learnVariables, searchedLog } from '../../canaries/canaries.ts';
import { mountedReceiver } from '../../mounted.ts';
import { type AdversarialQueue, openQueues } from '../adversarial-queue.ts';
import { randomFrom } from '../random.ts';
import { createHandlers, effects, sources } from './app.ts';
import { CONFIG, Context, createBindings, failed, SECRET } from './bindings.ts';
import { Interleaving, type Outcome, Run } from './interleaving.ts';
import type { Lane } from './lanes.ts';
import type { NeonInProcess } from './neon.ts';
import { createOutside } from './outside.ts';
import { type Due, Providers } from './providers.ts';
import type { Trial } from './trial.ts';

const MINUTE = 60_000;

/** Any time would do, because nothing reads another clock. */
export const START = Date.UTC(2027, 0, 1);

/** Nothing happens in time. So several messages are due at once, and make up a batch or several. */
const MAX_LATE_MS = 10_000;

/**
 * The cron's clock is ahead of the others, so that it prunes what has finished a moment ago, while another consumer still
 * works it. The code keeps such rows for an hour, but nothing may depend on that alone.
 */
const CRON_AHEAD_MS = 2 * 60 * MINUTE;

type Fetch = (request: Request, env: Env, ctx: ExecutionContext) => Response | Promise<Response>;

/** A deliberate one, to see that the check finds it. */
export interface Mistake {
  readonly receiver?: (real: Fetch) => Fetch;
  readonly hasNoCron?: true;
}

export type World = ReturnType<typeof createWorld>;

/** Providers, receiver and consumer with its cron, the queues and the outside, on a clock that only this code moves. */
export function createWorld(
  { scenario, seed, faults, mistake }: Trial,
  { databaseUrls, sql }: Lane,
  neon: NeonInProcess,
) {
  learnVariables({ SECRET });
  for (const url of Object.values(databaseUrls)) learnPassword(url);
  // Three sequences, so that a fault changes nothing but what comes after it.
  const random = randomFrom(seed * 3);
  let now = START;
  const clock = () => new Date(now);
  const interleaving = new Interleaving(random, faults);
  const outside = createOutside(interleaving, neon, randomFrom(seed * 3 + 1));
  const settings = { maxRetries: scenario.maxRetries, repeats: seed % 2 === 0 ? 1 : 0 };
  const queues = openQueues(CONFIG, settings, random, () => now);
  const bindings = createBindings(interleaving, queues, databaseUrls);
  const consumer = createConsumer({
    handlers: createHandlers(),
    sources,
    effects,
    now: clock,
    random: randomFrom(seed * 3 + 2),
    log: searchedLog,
    handlerMs: 30_000,
    effectMs: 10_000,
  });
  const providers = new Providers(scenario.sendings, START, random);
  let ticks = scenario.ticks.map((minute) => START + minute * MINUTE);
  const prunes = (scenario.prunes ?? []).map((minute) => START + minute * MINUTE);
  let runs = 0;
  let lastTickSucceeded = false;

  /** In a new isolate: what the old one held in memory is gone. */
  const createFetch = (): Fetch => {
    const app = mountedReceiver({ sources, now: clock, log: searchedLog });
    const real: Fetch = (request, env, ctx) => app.fetch(request, env, ctx);
    return mistake?.receiver?.(real) ?? real;
  };
  let receiver = createFetch();

  const newRun = (what: string, postgresAway = false) => new Run(`run ${++runs}, ${what}`, postgresAway);
  const start = (run: Run, work: () => Promise<void>, after: (outcome: Outcome) => void) => {
    const call: typeof fetch = (input, init) => outside.fetch(run, String(input), init ?? {});
    interleaving.start(run, call, work, (outcome) => {
      // What it did may be news for the cron.
      lastTickSucceeded = false;
      after(outcome);
    });
  };

  const deliver = (due: Due) => {
    const { events, postgresAway = false } = due.sending;
    const run = newRun(`delivery of ${events.map(({ id }) => id).join('+')}`, postgresAway && due.attempt === 1);
    const ctx = new Context();
    let answered: number | undefined;
    const work = async () => {
      const request = await providers.send(due, now);
      const { status } = await receiver(request, bindings.receiver(run), ctx.forWorker);
      const arrive = async () => {
        answered = status;
      };
      await interleaving.step(run, `answer ${status}`, arrive, failed);
      await ctx.settled();
    };
    providers.begin(due);
    start(run, work, (outcome) => {
      if (outcome === 'ended') receiver = createFetch();
      providers.answered(due, answered, now);
    });
  };

  const consume = (queue: AdversarialQueue) => {
    const run = newRun(`batch of ${queue.name}`);
    const taken = queue.take();
    const ctx = new Context();
    const work = async () => {
      await consumer.queue(bindings.batch(run, queue, taken), bindings.consumer(run));
      await ctx.settled();
    };
    start(run, work, (outcome) => queue.giveBack(taken, outcome === 'resolved'));
  };

  const tick = () => {
    ticks.shift();
    const run = newRun('cron');
    const controller = { scheduledTime: now + CRON_AHEAD_MS, cron: '*/15 * * * *', noRetry() {} };
    const work = async () => {
      if (!mistake?.hasNoCron) await consumer.scheduled(controller, bindings.consumer(run));
    };
    start(run, work, (outcome) => {
      // It also resolves if the alert endpoint didn't answer. The next tick alerts again then.
      lastTickSucceeded = outcome === 'resolved' && !run.hit;
    });
  };

  /** A cron that has come to its last step. */
  const pruneOnce = () => {
    prunes.shift();
    const run = newRun('prune');
    const { DATABASE_URL, DEDUPE_DAYS, BODY_DAYS } = bindings.consumer(run);
    const work = async () => {
      await prune(openDatabase(DATABASE_URL), new Date(now + CRON_AHEAD_MS), DEDUPE_DAYS, BODY_DAYS);
    };
    start(run, work, () => {});
  };

  /** What can begin now: a delivery, a batch, the cron, or its prune alone. */
  const startable = (): (() => void)[] => {
    // So that no two moments are the same.
    now += 1;
    const due = providers.due.filter(({ at }) => at <= now);
    const visible = [...queues.values()].filter((queue) => queue.visible.length > 0);
    return [
      ...due.map((one) => () => deliver(one)),
      ...visible.map((queue) => () => consume(queue)),
      ...(ticks.some((at) => at <= now) ? [tick] : []),
      ...(prunes.some((at) => at <= now) ? [pruneOnce] : []),
    ];
  };

  /** When the earliest pending event or effect is due, if there is one. */
  const nextDue = async () => {
    const [row] = await sql<{ due: Date | null }>(`
      select least((select min(due_at) from webhooks.events where status = 'pending'),
                   (select min(due_at) from webhooks.effects where status = 'pending')) as due`);
    return row?.due ?? undefined;
  };

  /** Moves the clock to the next thing that happens. When everything is done, one more tick of the cron is the last. */
  const later = async () => {
    const messages = [...queues.values()].flatMap((queue) => queue.messages);
    const times = [
      ...providers.due.map(({ at }) => at),
      ...ticks,
      ...prunes,
      ...messages.map(({ visibleAt }) => visibleAt),
    ];
    if (times.length === 0) {
      const due = await nextDue();
      if (due === undefined && lastTickSucceeded) return false;
      times.push(due?.getTime() ?? now);
      ticks = [...times];
    }
    now = Math.max(now, Math.min(...times)) + Math.floor(random() * MAX_LATE_MS);
    return true;
  };

  return {
    interleaving,
    outside,
    providers,
    /** Resolves when nothing is left to do: everything is answered, delivered, worked, sent, pruned and alerted about. */
    untilQuiet: () => interleaving.untilQuiet(startable, later),
  };
}
