import type { Mutant } from './mutant.ts';

const COMPLETE_TEST = 'test/engine/db/complete.test.ts';
const EVENTS_TEST = 'test/engine/consumer/events.test.ts';
const JUDGE_TEST = 'test/engine/consumer/judge.test.ts';
const MISTAKES_TEST = 'test/engine/consumer/mistakes.test.ts';
const DEAD_LETTERS_TEST = 'test/engine/consumer/dead-letters.test.ts';
const ROUND_TRIPS_TEST = 'test/engine/e2e/round-trips.test.ts';

/** Faults between a ticket and the end of its event's work. */
export const consumer: readonly Mutant[] = [
  {
    fault: 'the completion is committed before the changes, in a transaction of its own',
    file: 'src/db/complete.ts',
    find: 'if (completed.length === 1)',
    replace: `if (completed.length === 1)
    return commit(db, [completions]).then(() => commit(db, changes.filter((change) => change !== completions)));
  if (completed.length === 1)`,
    caughtBy: { file: COMPLETE_TEST, name: 'a completion is rolled back if a change fails' },
  },
  {
    fault: 'no constraint refuses a second completion',
    file: 'drizzle/0000_claimcheck.sql',
    find: '"completions" <= 1',
    replace: '"completions" <= 1000000',
    caughtBy: { file: COMPLETE_TEST, name: 'exactly one of twenty concurrent runs of an event commits' },
  },
  {
    fault: 'any error of Postgres is taken for a duplicate',
    file: 'src/db/errors.ts',
    find: "error.code !== '23514') return false;",
    replace: 'false) return false; return true;',
    caughtBy: {
      file: COMPLETE_TEST,
      name: 'a completion is rolled back if a change fails, and the error is not a duplicate',
    },
  },
  {
    fault: 'a constraint of the app with the same name is taken for a duplicate',
    file: 'src/db/errors.ts',
    find: '&& error.table === getTableName(webhookEvents)',
    replace: '',
    caughtBy: { file: COMPLETE_TEST, name: 'constraint called completed_at_most_once' },
  },
  {
    fault: 'an event that was parked or discarded meanwhile is completed',
    file: 'src/db/complete.ts',
    find: 'then 1 else 2 end',
    replace: 'then 1 else 1 end',
    caughtBy: { file: COMPLETE_TEST, name: 'an event that was parked or discarded meanwhile can not be completed' },
  },
  {
    fault: 'a group locks its events in any order, so that two groups deadlock',
    file: 'src/db/complete.ts',
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
    caughtBy: { file: EVENTS_TEST, name: 'failures of some events leave the other events of the batch done' },
  },
  {
    fault: 'an effect is enqueued before its event is committed',
    file: 'src/db/complete.ts',
    find: 'const changes = [',
    replace: `if (effects.length > 0) await commit(db, [enqueueEffects(effects, now)]);
  const changes = [`,
    caughtBy: { file: EVENTS_TEST, name: 'an event whose commit fails enqueues no effect' },
  },
  {
    fault: 'an effect that is sent is sent again by every further ticket',
    file: 'src/consumer/effects.ts',
    find: "effects.filter(({ status }) => status === 'pending')",
    replace: 'effects',
    caughtBy: {
      file: 'test/engine/consumer/effects.test.ts',
      name: 'a second ticket of an effect that is sent sends nothing',
    },
  },
  {
    fault: 'every attempt of an effect has another idempotency key',
    file: 'src/queue/idempotency-key.ts',
    find: 'keyText({ source, eventId, name })',
    replace: 'keyText({ source, eventId, name }) + Math.random()',
    caughtBy: { file: 'test/engine/e2e/pattern.test.ts', name: 'always with the same idempotency key' },
  },
  {
    fault: 'the deliveries of its ticket are counted as the attempts of an event',
    file: 'src/consumer/events.ts',
    find: 'const loaded = await loadEvents(db, [...keys.values()]);',
    replace: `const deliveries = messages[0].attempts - 1;
  const loaded = (await loadEvents(db, [...keys.values()])).map((event) => ({ ...event, attempts: deliveries }));`,
    caughtBy: { file: EVENTS_TEST, name: 'the first failure of an event counts one attempt, however often its ticket' },
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
    find: '|| attempts >= maxAttempts)',
    replace: ')',
    caughtBy: { file: JUDGE_TEST, name: 'an error at the twelfth attempt is parked' },
  },
  {
    fault: 'a permanent error is tried again',
    file: 'src/consumer/judge.ts',
    find: 'failure instanceof PermanentError ||',
    replace: '',
    caughtBy: { file: JUDGE_TEST, name: 'a PermanentError is parked' },
  },
  {
    fault: 'the waits between attempts do not grow',
    file: 'src/consumer/backoff.ts',
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
    file: 'src/consumer/events.ts',
    find: 'return seconds > 1 ?',
    replace: 'return false ?',
    caughtBy: { file: EVENTS_TEST, name: 'a second ticket during the wait does not run the handler' },
  },
  {
    fault: 'the tickets that may have killed an isolate are worked first',
    file: 'src/consumer/batch.ts',
    find: 'a.order - b.order',
    replace: 'b.order - a.order',
    caughtBy: { file: ROUND_TRIPS_TEST, name: 'redelivered tickets are worked alone, the most redelivered last' },
  },
  {
    fault: 'a dead letter is acknowledged, and its event is not parked',
    file: 'src/consumer/dead-letters.ts',
    find: ': await parkEvents(db, keys.filter(isTicket), ERROR, started);',
    replace: ': [];',
    caughtBy: { file: DEAD_LETTERS_TEST, name: 'the event of a dead ticket is parked with the reason' },
  },
  {
    fault: 'dead letters are deleted while Postgres is away',
    file: 'src/consumer/dead-letters.ts',
    find: 'if (settled) message.ack();',
    replace: 'if (true) message.ack();',
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
    file: 'src/consumer/changes.ts',
    find: 'if (controlsTransaction(query.sql)) return',
    replace: 'if (false) return',
    caughtBy: { file: MISTAKES_TEST, name: 'a returned statement' },
  },
  {
    fault: 'newer() lets an older event overwrite a newer one',
    file: 'src/kit/newer.ts',
    find: ') > (',
    replace: ') <> (',
    caughtBy: { file: 'test/engine/kit/newer.test.ts', name: 'is that of the newest event if they are worked as' },
  },
];
