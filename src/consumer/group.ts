import { Effect, type Tools } from '../app/define.ts';
import type { Database } from '../db/client.ts';
import { type Completion, complete } from '../db/complete.ts';
import { enqueue } from '../db/enqueue.ts';
import { DatabaseError } from '../db/errors.ts';
import { recordFailures } from '../db/fail.ts';
import type { WorkableEvent } from '../db/load.ts';
import { keyOf } from '../ticket.ts';
import type { ConsumerParts } from './events.ts';
import { type Judgement, judge } from './judge.ts';
import { askHandler, handlerOf } from './work.ts';

/** What the work on one event has come to. */
export type Result = { outcome: 'done' | 'ignored' | 'unknown' | 'later' } | Judgement;

/** An event with what its handler wants committed, or with the error that stands in the way. */
type Asked = { event: WorkableEvent } & ({ completion: Completion } | { error: unknown });

/** How long after its retry is due an event counts as overdue, in case the retried ticket is lost. */
const TICKET_GRACE_SECONDS = 600;

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
  const tools: Tools = { db, fetch: (...request) => fetch(...request), env };
  const asked = await Promise.all(events.map((event) => ask(event, tools, parts)));
  const committed = await commitGroup(db, asked, parts.now());

  const results = new Map<string, Result>();
  const failures = [];
  for (const one of committed) {
    const { event } = one;
    if ('completion' in one) {
      results.set(keyOf(event), { outcome: one.completion.status });
      continue;
    }
    const judgement = judge(one.error, event.attempts, handlerOf(event, parts.handlers)?.attempts);
    results.set(keyOf(event), judgement);
    if (judgement.outcome === 'retries' || judgement.outcome === 'parks') failures.push({ event, judgement });
  }

  const now = parts.now();
  await recordFailures(
    db,
    failures.map(({ event: { source, id }, judgement }) => {
      const seconds = judgement.outcome === 'retries' ? judgement.seconds : 0;
      const dueAt = new Date(now.getTime() + (seconds + TICKET_GRACE_SECONDS) * 1000);
      return { source, id, error: judgement.error, parked: judgement.outcome === 'parks', dueAt };
    }),
    now,
  );
  return results;
}

async function ask(event: WorkableEvent, tools: Tools, parts: ConsumerParts): Promise<Asked> {
  try {
    const { status, summary, changes } = await askHandler(event, parts.handlers, tools);
    const statements = changes.map((change) =>
      change instanceof Effect ? enqueue(tools.db, event, change, parts.now()) : change,
    );
    return { event, completion: { source: event.source, id: event.id, status, summary, changes: statements } };
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
      const retry = 'completion' in one && completions.length > 1 && isOnesFault(error);
      if (retry) settled.push(...(await commitGroup(db, [one], now)));
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
