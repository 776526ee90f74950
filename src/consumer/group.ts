import type { Database } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import type { Failure } from '../db/fail.ts';
import { type EventKey, keyText } from '../db/keys.ts';
import type { WorkableEvent } from '../db/load.ts';
import { openReadOnlyDatabase } from '../db/read-only.ts';
import type { Tools } from '../kit/index.ts';
import { sendTickets } from '../queue/send.ts';
import { chargeFailures } from './charge.ts';
import { commitEvents } from './commit.ts';
import type { ConsumerDependencies } from './dependencies.ts';
import { handlerOf } from './handler.ts';
import { judge, type Parked, type Retry } from './judge.ts';
import { atMost } from './limits.ts';
import { databaseUnavailable, type Outcome } from './outcome.ts';
import { type Failed, prepare } from './prepare.ts';

/** A Worker makes at most six calls to the outside at a time. A seventh handler would spend its time limit waiting. */
const HANDLERS_AT_ONCE = 6;

/** Asks the handlers, commits what they answered, sends the tickets of their effects, and records what failed. */
export async function workGroup(
  events: readonly WorkableEvent[],
  db: Database,
  env: ConsumerEnv,
  dependencies: ConsumerDependencies,
): Promise<Map<string, Outcome>> {
  const { now, random, handlers } = dependencies;
  const readOnly = openReadOnlyDatabase(env.DATABASE_URL);
  const tools: Tools = { db: readOnly, fetch: (...request) => fetch(...request), now: now(), env };
  // In the order of their keys, so that two groups with common events lock them in the same order.
  const ordered = events.toSorted((a, b) => (keyText(a) < keyText(b) ? -1 : 1));
  const asked = await atMost(HANDLERS_AT_ONCE, ordered, (event) => prepare(event, tools, dependencies));
  const prepared = asked.filter((one) => one.outcome === 'prepared');
  const { committed, failed, undecided } = await commitEvents(db, prepared, now());
  const unprepared = asked.filter((one) => one.outcome === 'failed');
  // If a handler's query fails while other events are worked, Postgres may be away. The event comes again alone.
  const isUndecided = ({ error }: Failed) => events.length > 1 && DatabaseError.isRetryable(error);
  // If a ticket is lost, the sweep sends another.
  await sendTickets(
    env.EFFECTS,
    committed.flatMap(({ effects }) => effects),
  );

  const outcomes = new Map<string, Outcome>();
  for (const { event, completion } of committed) outcomes.set(keyText(event), { outcome: completion.status });
  for (const { event, error } of [...unprepared.filter(isUndecided), ...undecided]) {
    outcomes.set(keyText(event), databaseUnavailable(error));
  }
  const failures: Failure[] = [];
  for (const { event, error } of [...unprepared.filter((one) => !isUndecided(one)), ...failed]) {
    const judgement = judge(error, event.attempts, random(), handlerOf(event, handlers)?.attempts);
    outcomes.set(keyText(event), judgement);
    if (judgement.outcome === 'retry' || judgement.outcome === 'parked')
      failures.push(failureOf(event, judgement, now()));
  }
  await chargeFailures(db, failures, now());
  return outcomes;
}

function failureOf({ source, eventId }: EventKey, judgement: Retry | Parked, now: Date): Failure {
  const seconds = judgement.outcome === 'retry' ? judgement.seconds : 0;
  const notBefore = new Date(now.getTime() + seconds * 1000);
  return { source, eventId, error: judgement.error, parked: judgement.outcome === 'parked', notBefore };
}
