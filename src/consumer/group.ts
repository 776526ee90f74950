import { Effect, type Tools } from '../app/define.ts';
import type { Database } from '../db/client.ts';
import { type Completion, complete } from '../db/complete.ts';
import { enqueue } from '../db/enqueue.ts';
import { DatabaseError } from '../db/errors.ts';
import { recordFailures } from '../db/fail.ts';
import type { WorkableEvent } from '../db/load.ts';
import { type EffectTicket, keyOf, sendTickets, TICKET_GRACE_MS } from '../ticket.ts';
import { judge } from './judge.ts';
import type { ConsumerParts } from './parts.ts';
import type { Result } from './settle.ts';
import { timeLimit } from './time-limit.ts';
import { askHandler, handlerOf } from './work.ts';

/** An event with what its handler wants committed, or with the error that stands in the way. */
type Asked = { event: WorkableEvent } & ({ completion: Completion; effects: EffectTicket[] } | { error: unknown });

/** A handler that needs longer holds up its whole batch. */
const HANDLER_TIMEOUT_MS = 30_000;

/**
 * Works events as a group: all their completions and changes commit in one transaction. If that fails, each commits
 * in one of its own, so that only the guilty one is judged.
 */
export async function workGroup(
  db: Database,
  events: readonly WorkableEvent[],
  env: ConsumerEnv,
  parts: ConsumerParts,
): Promise<Map<string, Result>> {
  const tools: Tools = { db, fetch: (...request) => fetch(...request), now: parts.now(), env };
  // In the order of their keys: two groups that share events or rows lock them in the same order, as far as it is ours.
  const ordered = events.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  const asked = await Promise.all(ordered.map((event) => ask(event, tools, parts)));
  const committed = await commitGroup(db, asked, parts.now());
  // Lost tickets are sent again by the sweep.
  await sendTickets(
    env.EFFECTS,
    committed.flatMap((one) => ('effects' in one ? one.effects : [])),
  );

  const results = new Map<string, Result>();
  const failures = [];
  const now = parts.now();
  for (const one of committed) {
    const { event } = one;
    if ('completion' in one) {
      results.set(keyOf(event), { outcome: one.completion.status });
      continue;
    }
    const judgement = judge(one.error, event.attempts, parts.random(), handlerOf(event, parts.handlers)?.attempts);
    results.set(keyOf(event), judgement);
    if (judgement.outcome !== 'retries' && judgement.outcome !== 'parks') continue;
    const seconds = judgement.outcome === 'retries' ? judgement.seconds : 0;
    const dueAt = new Date(now.getTime() + seconds * 1000 + TICKET_GRACE_MS);
    const { source, id } = event;
    failures.push({ source, id, error: judgement.error, parked: judgement.outcome === 'parks', dueAt });
  }
  await recordFailures(db, failures, now);
  return results;
}

async function ask(event: WorkableEvent, tools: Tools, parts: ConsumerParts): Promise<Asked> {
  const { source, id } = event;
  try {
    const work = askHandler(event, parts.handlers, tools);
    const { status, summary, changes } = await timeLimit(HANDLER_TIMEOUT_MS, 'the handler', work);
    const effects = changes.filter((change) => change instanceof Effect);
    const statements = changes.map((change) =>
      change instanceof Effect ? enqueue(tools.db, event, change, parts.now()) : change,
    );
    return {
      event,
      completion: { source, id, status, summary, changes: statements },
      effects: effects.map(({ name }) => ({ source, id, name })),
    };
  } catch (error) {
    return { event, error };
  }
}

/** Returns what it was given, with an error in place of each completion that did not commit. */
async function commitGroup(db: Database, asked: readonly Asked[], now: Date): Promise<Asked[]> {
  const completions = asked.flatMap((one) => ('completion' in one ? [one.completion] : []));
  if (completions.length === 0) return [...asked];
  try {
    await complete(db, completions, now);
    return [...asked];
  } catch (error) {
    const settled: Asked[] = [];
    for (const one of asked) {
      const worthATry = 'completion' in one && completions.length > 1 && isOnesFault(error);
      if (worthATry) settled.push(...(await commitGroup(db, [one], now)));
      else settled.push('completion' in one ? { event: one.event, error } : one);
    }
    return settled;
  }
}

/** A deadlock or a serialization failure is over at once; while Postgres itself is away, trying each alone is no use. */
function isOnesFault(error: unknown): boolean {
  const { retryable, code } = DatabaseError.from(error);
  return !retryable || code === '40P01' || code === '40001';
}
