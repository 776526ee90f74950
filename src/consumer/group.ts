import type { Database } from '../db/client.ts';
import { type Completion, complete } from '../db/complete.ts';
import { enqueue } from '../db/enqueue.ts';
import { DatabaseError, isCompletedBefore } from '../db/errors.ts';
import { recordFailures } from '../db/fail.ts';
import { loadEvents, type WorkableEvent } from '../db/load.ts';
import { Effect, PermanentError, type Tools } from '../kit/index.ts';
import { type EffectTicket, keyOf, sendTickets } from '../queue/tickets.ts';
import { atMost } from './at-most.ts';
import { judge } from './judge.ts';
import type { ConsumerParts } from './parts.ts';
import type { Result } from './settle.ts';
import { timeLimit } from './time-limit.ts';
import { askHandler, handlerOf } from './work.ts';

/** An event with what its handler wants committed, or with the error that stands in the way. */
type Asked = { event: WorkableEvent } & ({ completion: Completion; effects: EffectTicket[] } | { error: unknown });

/** A Worker makes six calls to the outside at a time. A seventh would wait for a place while its own time limit runs. */
const HANDLERS_AT_ONCE = 6;

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
  const asked = await atMost(HANDLERS_AT_ONCE, ordered, (event) => ask(event, tools, parts));
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
    const notBefore = new Date(now.getTime() + seconds * 1000);
    const { source, id } = event;
    failures.push({ source, id, error: judgement.error, parked: judgement.outcome === 'parks', notBefore });
  }
  await recordFailures(db, failures, now);
  return results;
}

async function ask(event: WorkableEvent, tools: Tools, parts: ConsumerParts): Promise<Asked> {
  const { source, id } = event;
  try {
    const work = askHandler(event, parts.handlers, tools);
    const { status, summary, changes } = await timeLimit(parts.handlerMs, 'the handler', work);
    const effects = changes.filter((change) => change instanceof Effect);
    if (new Set(effects.map(({ name }) => name)).size < effects.length) {
      throw new PermanentError('two effects have the same name: the second would be lost');
    }
    const statements = changes.map((change) =>
      change instanceof Effect ? enqueue(tools.db, event, change, parts.now()) : change,
    );
    // A statement that can't be built fails here, where it is clear whose it is.
    for (const statement of statements)
      if ('toSQL' in statement && typeof statement.toSQL === 'function') statement.toSQL();
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
    if (completions.length === 1 || !isOnesFault(error)) return asked.map((one) => withError(one, error));
    return isCompletedBefore(error) ? commitPending(db, asked, error, now) : commitAlone(db, asked, now);
  }
}

/** Somebody else has finished some of them meanwhile: that costs the others one more query, and not their group. */
async function commitPending(db: Database, asked: readonly Asked[], error: unknown, now: Date): Promise<Asked[]> {
  const loaded = await loadEvents(
    db,
    asked.map(({ event }) => event),
  );
  const pending = new Set(loaded.filter(({ status }) => status === 'pending').map(keyOf));
  const isFinished = (one: Asked) => 'completion' in one && !pending.has(keyOf(one.event));
  const rest = asked.filter((one) => !isFinished(one));
  const finished = asked.filter(isFinished).map((one) => withError(one, error));
  const commit = finished.length > 0 ? commitGroup : commitAlone;
  return [...finished, ...(await commit(db, rest, now))];
}

async function commitAlone(db: Database, asked: readonly Asked[], now: Date): Promise<Asked[]> {
  const settled: Asked[] = [];
  let away: unknown;
  for (const one of asked) {
    const [committed = one] = away ? [withError(one, away)] : await commitGroup(db, [one], now);
    if ('completion' in one && 'error' in committed && !isOnesFault(committed.error)) away = committed.error;
    settled.push(committed);
  }
  return settled;
}

function withError(one: Asked, error: unknown): Asked {
  return 'completion' in one ? { event: one.event, error } : one;
}

/** A deadlock or a serialization failure is over at once; while Postgres itself is away, trying each alone is no use. */
function isOnesFault(error: unknown): boolean {
  const { retryable, code } = DatabaseError.from(error);
  return !retryable || code === '40P01' || code === '40001';
}
