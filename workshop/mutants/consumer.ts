import type { Mutant } from './mutant.ts';

const COMPLETE_TEST = 'test/engine/db/complete.test.ts';
const WORK_TEST = 'test/engine/consumer/events.test.ts';
const JUDGE_TEST = 'test/engine/consumer/judge.test.ts';
const MISTAKES_TEST = 'test/engine/consumer/mistakes.test.ts';
const DEAD_LETTERS_TEST = 'test/engine/consumer/dead-letters.test.ts';
const ROUND_TRIPS_TEST = 'test/engine/e2e/round-trips.test.ts';

/** Faults between a ticket and the end of its event's work, and in the cron. */
export const consumer: readonly Mutant[] = [
  {
    fault: 'the completion is committed before the changes, in a transaction of its own',
    file: 'src/db/events.ts',
    find: 'if (completed.length === 1) return',
    replace: `if (completed.length === 1)
    return commit(db, [completions]).then(() => commit(db, changes.filter((change) => change !== completions)));
  if (completed.length === 1) return`,
    caughtBy: { file: COMPLETE_TEST, name: 'a completion is rolled back if a change fails' },
  },
  {
    fault: 'no constraint refuses a second completion',
    file: 'drizzle/engine/0000_engine.sql',
    find: '"completions" between 0 and 1',
    replace: '"completions" between 0 and 1000000',
    caughtBy: { file: COMPLETE_TEST, name: 'exactly one of twenty concurrent runs of an event commits' },
  },
  {
    fault: 'any error of Postgres is taken for a duplicate',
    file: 'src/db/errors.ts',
    find: "!(error instanceof DatabaseError) || error.code !== '23514') return false;",
    replace: 'false) return false; return true;',
    caughtBy: {
      file: COMPLETE_TEST,
      name: 'a completion is rolled back if a change fails, and the error is not a duplicate',
    },
  },
  {
    fault: 'must() lets a statement pass that changes no row',
    file: 'src/db/user-statement.ts',
    find: 'having count(*) = 0',
    replace: 'having count(*) < 0',
    caughtBy: {
      file: 'test/engine/e2e/patterns.test.ts',
      name: 'two events of one shipment in one batch send one mail, and both are done',
    },
  },
  {
    fault: 'a constraint of the app with the same name is taken for a duplicate',
    file: 'src/db/errors.ts',
    find: 'error.table === `',
    replace: 'true || error.table === `',
    caughtBy: { file: COMPLETE_TEST, name: 'constraint called completed_at_most_once' },
  },
  {
    fault: 'an event that was parked or discarded meanwhile is completed',
    file: 'src/db/events.ts',
    find: 'then 1 else 2 end',
    replace: 'then 1 else 1 end',
    caughtBy: { file: COMPLETE_TEST, name: 'an event that was parked or discarded meanwhile can not be completed' },
  },
  {
    fault: 'a group locks its events in any order, so that two groups deadlock',
    file: 'src/db/events.ts',
    find: `order by \${events.source}, \${events.eventId} for update`,
    replace: 'for update',
    caughtBy: { file: COMPLETE_TEST, name: 'groups that share events in opposite orders do not deadlock' },
  },
  {
    fault: 'one bad event fails all events of its batch',
    file: 'src/consumer/commit.ts',
    find: 'if (!isCompletedBefore(error)) return',
    replace: `if (!isCompletedBefore(error)) return { ...NONE, failed: withError(group, error) };
  if (!isCompletedBefore(error)) return`,
    caughtBy: { file: WORK_TEST, name: 'failures of some events leave the other events of the batch done' },
  },
  {
    fault: 'an effect is enqueued before its event is committed',
    file: 'src/db/events.ts',
    find: 'const changes = [',
    replace: `if (effects.length > 0) await commit(db, [enqueueEffects(effects, now)]);
  const changes = [`,
    caughtBy: { file: WORK_TEST, name: 'an event whose commit fails enqueues no effect' },
  },
  {
    fault: 'an effect that is sent is sent again by every further ticket',
    file: 'src/consumer/send-effects.ts',
    find: "if (effect.status !== 'pending') outcomes",
    replace: 'if (false) outcomes',
    caughtBy: {
      file: 'test/engine/consumer/effects.test.ts',
      name: 'a second ticket of an effect that is sent sends nothing',
    },
  },
  {
    fault: 'every attempt of an effect has another idempotency key',
    file: 'src/db/keys.ts',
    find: 'encode(keyText(key))',
    replace: 'encode(keyText(key) + Math.random())',
    caughtBy: { file: 'test/engine/e2e/pattern.test.ts', name: 'always with the same idempotency key' },
  },
  {
    fault: 'the deliveries of its ticket are counted as the attempts of an event',
    file: 'src/consumer/work.ts',
    find: 'const loaded = await loadEvents(db, [...keys.values()], beginningOf(messages, started));',
    replace: `const deliveries = messages[0].attempts - 1;
  const loaded = (await loadEvents(db, [...keys.values()])).map((event) => ({ ...event, attempts: deliveries }));`,
    caughtBy: { file: WORK_TEST, name: 'the first failure of an event counts one attempt, however often its ticket' },
  },
  {
    fault: 'an outage of Postgres uses up the attempts of events',
    file: 'src/consumer/commit.ts',
    find: 'function isCausedByOneEvent(error: unknown): boolean {',
    replace: 'function isCausedByOneEvent(error: unknown): boolean { if (error) return true;',
    caughtBy: {
      file: ROUND_TRIPS_TEST,
      name: 'a group that can not be committed is retried, and no attempt is counted',
    },
  },
  {
    fault: 'an event that fails is tried without end',
    file: 'src/consumer/judge.ts',
    find: ' || attempts >= maxAttempts',
    replace: '',
    caughtBy: { file: JUDGE_TEST, name: 'an error at the twelfth attempt is parked' },
  },
  {
    fault: 'a permanent error is tried again',
    file: 'src/consumer/judge.ts',
    find: 'error instanceof PermanentError || ',
    replace: '',
    caughtBy: { file: JUDGE_TEST, name: 'a PermanentError is parked' },
  },
  {
    fault: 'the waits between attempts do not grow',
    file: 'src/consumer/judge.ts',
    find: 'FIRST_SECONDS * 2 ** Math.max(0, failures - 1)',
    replace: 'FIRST_SECONDS',
    caughtBy: { file: JUDGE_TEST, name: 'the longest wait doubles' },
  },
  {
    fault: 'the log names the message of the error that a handler has thrown',
    file: 'src/consumer/judge.ts',
    find: 'reason: String(name)',
    replace: 'reason: message',
    caughtBy: { file: JUDGE_TEST, name: 'only its name goes to the log' },
  },
  {
    fault: 'a second ticket runs an event that waits for its next attempt',
    file: 'src/consumer/batch.ts',
    find: 'return seconds > 1 ?',
    replace: 'return false ?',
    caughtBy: { file: WORK_TEST, name: 'a second ticket during the wait does not run the handler' },
  },
  {
    fault: 'the tickets that may have killed an isolate are worked first',
    file: 'src/consumer/batch.ts',
    find: 'a.order - b.order',
    replace: 'b.order - a.order',
    caughtBy: { file: ROUND_TRIPS_TEST, name: 'redelivered tickets are worked alone, the most redelivered last' },
  },
  {
    fault: 'a group of redelivered tickets that killed its isolate is worked as a group again and again',
    file: 'src/consumer/work.ts',
    find: ' || event.isUnended',
    replace: '',
    caughtBy: { file: ROUND_TRIPS_TEST, name: 'redelivered tickets are worked alone, the most redelivered last' },
  },
  {
    fault: 'after an outage, every ticket is worked alone',
    file: 'src/consumer/batch.ts',
    find: '...(await workPortion(redelivered))',
    replace: '...redelivered',
    caughtBy: { file: ROUND_TRIPS_TEST, name: 'after an outage, a hundred redelivered tickets cost one query' },
  },
  {
    fault: 'the result of an old call closes the effect that a rerun has added',
    file: 'src/db/effects.ts',
    find: 'row}.generation',
    replace: 'effects.generation}',
    caughtBy: { file: 'test/engine/e2e/effects.test.ts', name: 'a call that was begun before a rerun does not close' },
  },
  {
    fault: 'an event of a source that was renamed is ignored without a word',
    file: 'src/consumer/ask-handler.ts',
    find: 'if (configured === undefined) return',
    replace: 'if (configured === undefined) return undefined; if (configured === undefined) return',
    caughtBy: { file: WORK_TEST, name: 'an event without a handler is parked if its source is gone' },
  },
  {
    fault: 'an error that quotes a secret is stored as it is',
    file: 'src/consumer/judge.ts',
    find: "hideSecrets([problem, described.error].filter(Boolean).join('. '), env)",
    replace: "[problem, described.error].filter(Boolean).join('. ')",
    caughtBy: { file: JUDGE_TEST, name: 'the message of an error that holds a value of the environment' },
  },
  {
    fault: 'a dead letter is acknowledged, and its event is not parked',
    file: 'src/consumer/dead-letters.ts',
    find: ': await parkEvents(db, keys.filter(isTicket), POISON, started);',
    replace: ': [];',
    caughtBy: { file: DEAD_LETTERS_TEST, name: 'the event of a dead ticket is parked with the reason' },
  },
  {
    fault: 'dead letters are deleted while Postgres is away',
    file: 'src/consumer/dead-letters.ts',
    find: 'message.retry({ delaySeconds: WAIT_SECONDS })',
    replace: 'message.ack()',
    caughtBy: { file: DEAD_LETTERS_TEST, name: 'while Postgres is away, dead tickets and dead forwarded deliveries' },
  },
  {
    fault: 'a handler can write with the database handle that it gets',
    file: 'src/db/read-only.ts',
    find: '{ readOnly: true }',
    replace: '{}',
    caughtBy: { file: MISTAKES_TEST, name: 'a handler that awaits an insert has' },
  },
  {
    fault: 'a handler can end the transaction in which its changes are committed',
    file: 'src/consumer/ask-handler.ts',
    find: 'if (controlsTransaction(query.sql)) return',
    replace: 'if (false) return',
    caughtBy: { file: MISTAKES_TEST, name: 'a returned statement' },
  },
  {
    fault: "a handler's statement may name a table of the engine",
    file: 'src/consumer/ask-handler.ts',
    find: 'if (namesEngine(query.sql)) return',
    replace: 'if (false) return',
    caughtBy: { file: MISTAKES_TEST, name: 'statements that name a table of the engine' },
  },
  {
    fault: 'an effect that was told to wait is sent by every further ticket',
    file: 'src/consumer/send-effects.ts',
    find: 'else if (seconds > 0)',
    replace: 'else if (false)',
    caughtBy: {
      file: 'test/engine/consumer/effects.test.ts',
      name: 'three more tickets and five sweeps of an effect that was told to wait',
    },
  },
  {
    fault: 'newer() lets an older event overwrite a newer one',
    file: 'src/kit/handler.ts',
    find: ') > (',
    replace: ') <> (',
    caughtBy: { file: 'test/engine/kit/newer.test.ts', name: 'is that of the newest event if they are worked as' },
  },
  {
    fault: 'pruning comes before the alerts, and leaves them no request on the Free plan',
    file: 'src/consumer/cron.ts',
    find: "await logFailure('alert', log, () =>",
    replace:
      "await logFailure('prune', log, () => pruneOld(openDatabase(env.DATABASE_URL), env, now, log)); await logFailure('alert', log, () =>",
    caughtBy: { file: 'test/engine/cron/alerts.test.ts', name: 'is alerted although pruning uses up the requests' },
  },
  {
    fault: 'a lost ticket is never sent again',
    file: 'src/consumer/cron.ts',
    find: 'await sendTickets(env.EVENTS, events)',
    replace: 'true',
    caughtBy: { file: 'test/engine/cron/cron.test.ts', name: 'a run sends every overdue ticket once' },
  },
  {
    fault: 'the sweep sends the ticket of an event every 15 minutes, however long the event has been waiting',
    file: 'src/db/sweep.ts',
    find: 'greatest(',
    replace: 'least(',
    caughtBy: { file: 'test/engine/db/sweep.test.ts', name: 'at intervals that double up to a day' },
  },
  {
    fault: 'pruning deletes events that are pending or parked',
    file: 'src/db/sweep.ts',
    find: 'before(dedupeDays)} and',
    replace: 'before(dedupeDays)} or',
    caughtBy: {
      file: 'test/engine/db/sweep.test.ts',
      name: 'events that are pending, parked or have an effect to send',
    },
  },
  {
    fault: 'pruning deletes events that still have an effect to send',
    file: 'src/db/sweep.ts',
    find: "<> 'sent'",
    replace: "= 'nothing'",
    caughtBy: {
      file: 'test/engine/db/sweep.test.ts',
      name: 'events that are pending, parked or have an effect to send',
    },
  },
];
