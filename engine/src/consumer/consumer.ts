import { type Database, openDatabase } from '../db/client.ts';
import { eraseEvents, findMarkedTenants, finishErasure } from '../db/erase.ts';
import { DatabaseError } from '../db/errors.ts';
import { takeWaiting } from '../db/pauses.ts';
import { PRUNE_CHUNK, prune, SWEEP_CHUNK, takeOverdue } from '../db/sweep.ts';
import { isReconcileMessage, sendReconciles, sendTickets } from '../queue/tickets.ts';
import type { Log, LogLine } from '../shared/log.ts';
import type { ConsumerBindings, MessageBatch } from '../shared/runtime.ts';
import { parkDeadLetters, settleDeadLetter } from './dead-letters.ts';
import { PAUSE_SECONDS } from './judge.ts';
import { type ConsumerDependencies, type Portion, type Reconcile, workInPortions } from './portions.ts';
import { ticketsOf } from './run-answers.ts';
import { sendAlerts } from './send-alerts.ts';
import { sendEffects } from './send-effects.ts';
import { workEvents } from './work.ts';

/** The messages of a queue with an unknown name wait this long: until then somebody may have corrected the name. */
const UNKNOWN_QUEUE_WAIT_SECONDS = 3600;

/** One Worker for all background work: the cron, and four queues. Variables in its wrangler file hold their names. */
export function createConsumer(dependencies: ConsumerDependencies) {
  return {
    async queue(batch: MessageBatch, env: ConsumerBindings): Promise<void> {
      const workDeadLetters = (kind: 'events' | 'effects') => {
        const park = (portion: Portion) => parkDeadLetters(kind, portion, env, dependencies);
        return workInPortions(batch, dependencies, park, 'dead_letter', settleDeadLetter);
      };
      switch (batch.queue) {
        case env.EVENTS_QUEUE:
          return workEventsQueue(batch, env, dependencies);
        case env.EFFECTS_QUEUE:
          return workInPortions(batch, dependencies, (portion) => sendEffects(portion, env, dependencies));
        case env.EVENTS_DEAD_QUEUE:
          return workDeadLetters('events');
        case env.EFFECTS_DEAD_QUEUE:
          return workDeadLetters('effects');
        default:
          dependencies.log({ step: 'configuration', outcome: 'unknown_queue', queue: batch.queue });
          batch.retryAll({ delaySeconds: UNKNOWN_QUEUE_WAIT_SECONDS });
      }
    },
    async scheduled(controller: { readonly scheduledTime: number }, env: ConsumerBindings): Promise<void> {
      await tick(
        env,
        new Date(controller.scheduledTime),
        dependencies.log,
        dependencies.reconcile,
        dependencies.effects,
      );
    },
  };
}

/** A run that has killed its isolate so often is given up. The next tick sends another message. */
const MAX_RECONCILE_DELIVERIES = 3;

async function workEventsQueue(
  { messages }: MessageBatch,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<void> {
  const reconciles = messages.filter(({ body }) => isReconcileMessage(body));
  const others = { messages: messages.filter((message) => !reconciles.includes(message)) };
  await workInPortions(others, dependencies, (portion) => workEvents(portion, env, dependencies));
  // The provider's API may take its time, so this comes last. What fails is noted, and tried again by the next tick.
  for (const message of reconciles) {
    message.ack();
    if (!isReconcileMessage(message.body) || message.attempts > MAX_RECONCILE_DELIVERIES) continue;
    const next = await dependencies.reconcile?.run(message.body, env, dependencies);
    if (next) await sendReconciles(env.EVENTS, [next]);
  }
}

/** A run sends the tickets of at most this many chunks, so that a backlog isn't doubled at once. The next continues. */
const MAX_SWEEP_CHUNKS = 10;

/**
 * A run deletes at most this many chunks. A chunk takes a tenth of a second, or a whole one on the smallest compute, so
 * a run ends before the next begins. With 96 runs a day, the table grows if more events come than these can delete.
 */
export const MAX_PRUNE_CHUNKS = 300;

/** As for `MAX_PRUNE_CHUNKS`. The next run goes on. */
const MAX_ERASE_CHUNKS = 300;

/** A receiver takes deliveries of a tenant for a minute after it was disabled. What it claims then must be erased as well. */
const ERASE_AFTER_MS = 5 * 60_000;

/**
 * The work of the cron, every 15 minutes: it sends overdue tickets again, alerts the operator, asks for a run of
 * reconcile for each of its sources, erases tenants, and deletes old events and bodies. Pruning comes last, because it may take minutes, and
 * may use up the requests that the run is allowed to make (50 on Cloudflare's Free plan).
 */
export async function tick(
  env: ConsumerBindings,
  now: Date,
  log: Log,
  reconcile?: Reconcile,
  effects: ConsumerDependencies['effects'] = {},
): Promise<void> {
  const steps = [
    () => logFailure('sweep', log, () => sweep(openDatabase(env.DATABASE_URL), env, effects, now, log)),
    () => logFailure('alert', log, () => sendAlerts(env, now, log, reconcile?.sources)),
    () => askToReconcile(env, log, reconcile?.sources ?? []),
    () => logFailure('erase', log, () => eraseTenants(openDatabase(env.DATABASE_URL), now, log)),
    () => logFailure('prune', log, () => pruneOld(openDatabase(env.DATABASE_URL), env, now, log)),
  ];
  const errors: unknown[] = [];
  // If one fails, the others are tried.
  for (const step of steps) await step().catch((error: unknown) => errors.push(error));
  if (errors.length > 0) throw errors[0];
}

async function sweep(
  db: Database,
  env: ConsumerBindings,
  effects: ConsumerDependencies['effects'],
  now: Date,
  log: Log,
): Promise<void> {
  const kinds = Object.entries(effects).flatMap(([kind, { pauseFor: seconds }]) =>
    seconds === undefined ? [] : [{ kind, seconds }],
  );
  const patience = { usual: PAUSE_SECONDS, kinds };
  const swept = { events: 0, effects: 0 };
  let sent = true;
  for (let chunk = 0; chunk < MAX_SWEEP_CHUNKS && sent; chunk++) {
    const { events, effects } = await takeOverdue(db, now, patience);
    const sentBoth = [await sendTickets(env.EVENTS, events), await sendTickets(env.EFFECTS, effects)];
    sent = sentBoth.every(Boolean);
    swept.events += events.length;
    swept.effects += effects.length;
    if (events.length < SWEEP_CHUNK && effects.length < SWEEP_CHUNK) break;
  }
  // The next of those that wait, in case the run that was to send its ticket was killed.
  const waiting = await takeWaiting(db, now);
  sent = (await sendTickets(env.EFFECTS, ticketsOf(waiting))) && sent;
  swept.effects += waiting.length;
  // Tickets that the queue did not take are overdue again after their interval.
  log({ step: 'sweep', outcome: sent ? 'done' : 'not_sent', ...swept });
}

/** One message for each source, so that each run has a limit of requests of its own, and none keeps the cron waiting. */
async function askToReconcile(env: ConsumerBindings, log: Log, sources: readonly string[]): Promise<void> {
  if (sources.length === 0) return;
  const isSent = await sendReconciles(
    env.EVENTS,
    sources.map((reconcile) => ({ reconcile })),
  );
  if (!isSent) log({ step: 'reconcile', outcome: 'not_sent' });
}

async function eraseTenants(db: Database, now: Date, log: Log): Promise<void> {
  const before = new Date(now.getTime() - ERASE_AFTER_MS);
  let chunks = 0;
  for (const tenant of await findMarkedTenants(db, before, MAX_ERASE_CHUNKS)) {
    let events = 0;
    for (let after: string | undefined = ''; after !== undefined; chunks++) {
      if (chunks === MAX_ERASE_CHUNKS) return log({ step: 'erase', outcome: 'unfinished', ...tenant, events });
      const erased = await eraseEvents(db, tenant, after, now);
      events += erased.events;
      after = erased.last;
    }
    await finishErasure(db, tenant, before, now);
    log({ step: 'erase', outcome: 'done', ...tenant, events });
  }
}

async function pruneOld(db: Database, env: ConsumerBindings, now: Date, log: Log): Promise<void> {
  const dedupeDays = daysIn(env, 'DEDUPE_DAYS', log);
  const bodyDays = daysIn(env, 'BODY_DAYS', log);
  if (dedupeDays === undefined || bodyDays === undefined) return;
  const pruned = { events: 0, bodies: 0 };
  for (let chunk = 0; chunk < MAX_PRUNE_CHUNKS; chunk++) {
    const { events, bodies } = await prune(db, now, dedupeDays, bodyDays);
    pruned.events += events;
    pruned.bodies += bodies;
    if (events < PRUNE_CHUNK && bodies < PRUNE_CHUNK) return log({ step: 'prune', outcome: 'done', ...pruned });
  }
  log({ step: 'prune', outcome: 'unfinished', ...pruned });
}

/** Cloudflare's dashboard makes texts of variables, and takes any. With 0 days, all that is finished would be deleted. */
function daysIn(env: ConsumerBindings, variable: 'DEDUPE_DAYS' | 'BODY_DAYS', log: Log): number | undefined {
  const value: unknown = env[variable];
  const days = typeof value === 'string' || typeof value === 'number' ? Number(value) : Number.NaN;
  if (days >= 1) return days;
  log({ step: 'configuration', outcome: 'invalid_days', variable });
  return undefined;
}

/** The error is thrown on, so that Cloudflare also counts the run as failed. */
async function logFailure(step: LogLine['step'], log: Log, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    log({ step, outcome: 'failed', reason: DatabaseError.fromThrown(error).message });
    throw error;
  }
}
