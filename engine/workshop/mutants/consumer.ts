import { faultsIn, type Mutant } from './mutant.ts';

/** Faults between a ticket and the end of its event's work, and in the cron. */
export const consumer: readonly Mutant[] = [
  ...faultsIn(
    'engine/src/db/events.ts',
    ['db/complete', 'e2e/group', 'e2e/round-trips', 'consumer/events'],
    [
      [
        'the completion is committed before the changes, in a transaction of its own',
        'if (completed.length === 1) return',
        `if (completed.length === 1)
    return commit(db, [completions]).then(() => commit(db, changes.filter((change) => change !== completions)));
  if (completed.length === 1) return`,
      ],
      ['an event that was parked or discarded meanwhile is completed', 'then 1 else 2 end', 'then 1 else 1 end'],
      ['an event whose row is gone makes its changes', 'having count(*) <>', 'having count(*) >'],
      [
        'a group locks its events in any order, so that two groups deadlock',
        `order by \${events.source}, \${events.eventId} for update`,
        'for update',
      ],
      [
        'an effect is enqueued before its event is committed',
        'const changes = [',
        `if (effects.length > 0) await commit(db, [enqueueEffects(effects, now)]);
  const changes = [`,
      ],
      [
        'a group waits for a lock until its transaction is given up',
        "GROUP_LOCK_TIMEOUT = '3s'",
        "GROUP_LOCK_TIMEOUT = '30s'",
      ],
      [
        'an event that failed stays noted as begun, and is worked alone ever after',
        `\${column.attempts} = \${events.attempts} + 1,
      \${column.begunAt} = null,
      \${column.failure} = failed.failure,`,
        `\${column.attempts} = \${events.attempts} + 1,
      \${column.failure} = failed.failure,`,
      ],
      [
        'an event that is tried again has a time at which it was finished',
        `case when failed.parked then \${at(now)} end`,
        `\${at(now)}`,
      ],
      [
        'an event that is tried again is due at once',
        `\${column.dueAt} = failed.not_before + \${\`\${TICKET_GRACE_MS} milliseconds\`}::interval`,
        `\${column.dueAt} = failed.not_before`,
      ],
      [
        'an event that the queue gave up keeps the place of an earlier error',
        `\${column.failedPaths} = null, \${column.position} = null, \${column.finishedAt}`,
        `\${column.failedPaths} = null, \${column.finishedAt}`,
      ],
      ['the characters of bodies are counted and not their bytes', 'octet_length(', 'length('],
    ],
  ),
  ...faultsIn(
    'engine/drizzle/0000_engine.sql',
    ['db/complete'],
    [
      [
        'no constraint refuses a second completion',
        '"completions" between 0 and 1',
        '"completions" between 0 and 1000000',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/db/errors.ts',
    ['db/complete'],
    [
      [
        'any error of Postgres is taken for a duplicate',
        "error.code !== '23514') return false;",
        'false) return false; return true;',
      ],
      [
        'a constraint of the app with the same name is taken for a duplicate',
        'error.table === `',
        'true || error.table === `',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/consumer/commit.ts',
    ['pure/batch', 'e2e/round-trips', 'e2e/group', 'e2e/blame', 'consumer/events', 'consumer/mistakes'],
    [
      [
        'one bad event fails all events of its batch',
        'if (!isCompletedBefore(error)) return',
        `if (!isCompletedBefore(error)) return { ...NONE, failed: withError(group, error) };
  if (!isCompletedBefore(error)) return`,
      ],
      [
        'an outage of Postgres uses up the attempts of events',
        'function isCausedByOneEvent(error: unknown): boolean {',
        'function isCausedByOneEvent(error: unknown): boolean { if (error) return true;',
      ],
      [
        'a group that waited too long for a lock is halved, and waits again',
        "['40001', '40P01', '55P03']",
        "['40001', '40P01']",
      ],
      ['events that share a number as their key are not sorted by it', " || typeof param === 'number'", ''],
      ['events that share a bigint as their key are not sorted by it', " || typeof param === 'bigint'", ''],
      [
        'events that were not tried because Postgres went away are acknowledged',
        'postponed: withError(group.slice(index + 1), error)',
        'postponed: []',
      ],
      [
        'the settings of one event apply to the next one that sets some too',
        'await commitEachAlone(db, rest, now)',
        'await commitGroup(db, rest, now)',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/consumer/send-effects.ts',
    ['consumer/effects', 'e2e/effects'],
    [
      [
        'an effect that is sent is sent again by every further ticket',
        "if (effect.status !== 'pending') outcomes",
        'if (false) outcomes',
      ],
      ['an effect that was told to wait is sent by every further ticket', 'else if (seconds > 0)', 'else if (false)'],
      ['a call that takes too long is not aborted', 'limit.abort(late);', ''],
      [
        'the body of an answer stays open, and its connection with it',
        'if (!returned.bodyUsed) await returned.body?.cancel?.().catch(() => {});',
        '',
      ],
      [
        'effects that killed their isolate are sent as a group again and again',
        'messages.length > 1 ? effects.filter(({ neverEnded }) => neverEnded).map(keyText) : []',
        '[]',
      ],
      [
        'the attempts of an effect are counted from the start each time',
        'attemptsBefore: effect.attempts',
        'attemptsBefore: 0',
      ],
      ['the log does not name the idempotency key of a call', 'idempotency_key: key, ', ''],
    ],
  ),
  ...faultsIn(
    'engine/src/db/keys.ts',
    ['e2e/pattern'],
    [
      [
        'every attempt of an effect has another idempotency key',
        'encode(keyText(key))',
        'encode(keyText(key) + Math.random())',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/consumer/work.ts',
    ['consumer/events', 'consumer/messages', 'e2e/round-trips', 'e2e/group', 'e2e/blame'],
    [
      [
        'the deliveries of its ticket are counted as the attempts of an event',
        'const loaded = await loadEvents(db, [...keys.values()], beginningOf(messages, started));',
        `const deliveries = messages[0].attempts - 1;
  const loaded = (await loadEvents(db, [...keys.values()])).map((event) => ({ ...event, attempts: deliveries }));`,
      ],
      [
        'a group of redelivered tickets that killed its isolate is worked as a group again and again',
        ' || event.neverEnded',
        '',
      ],
      ['a hundred handlers are asked at once', 'HANDLERS_AT_ONCE = 6', 'HANDLERS_AT_ONCE = 100'],
      ['handlers are asked one after the other', 'HANDLERS_AT_ONCE = 6', 'HANDLERS_AT_ONCE = 1'],
      [
        'only the first event of a group has the tickets of its effects sent',
        'const tickets = committed.flatMap(',
        'const tickets = committed.slice(0, 1).flatMap(',
      ],
      [
        'an event without a handler that somebody else completed waits for nothing',
        ' && !isCompletedBefore(thrown)',
        '',
      ],
      [
        'of several events without a body only the first is parked',
        'await parkEvents(db, withoutBody, BODY_GONE, now);',
        'await parkEvents(db, withoutBody.slice(0, 1), BODY_GONE, now);',
      ],
      [
        'a message of several events of which one has failed before is never worked',
        'workLoaded(loaded, messages.length > 1',
        'workLoaded(loaded, loaded.length > 1',
      ],
      [
        'the wait of an event begins before its handler does',
        'new Date(now().getTime() + seconds',
        'new Date(tools.now.getTime() + seconds',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/consumer/judge.ts',
    ['pure/judge'],
    [
      ['an event that fails is tried without end', ' || attempts >= maxAttempts', ''],
      ['a permanent error is tried again', 'error instanceof PermanentError || ', ''],
      ['the waits between attempts do not grow', 'FIRST_SECONDS * 2 ** Math.max(0, failures - 1)', 'FIRST_SECONDS'],
      ['the log names the message of the error that a handler has thrown', 'reason: nameOf(error)', 'reason: message'],
      [
        'an error that quotes a secret is stored as it is',
        "hideSecrets([problem, described.error].filter(Boolean).join('. '), env)",
        "[problem, described.error].filter(Boolean).join('. ')",
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/consumer/batch.ts',
    ['pure/batch', 'consumer/events', 'e2e/round-trips', 'e2e/effects'],
    [
      ['a second ticket runs an event that waits for its next attempt', 'return seconds > 1 ?', 'return false ?'],
      ['the tickets that may have killed an isolate are worked first', 'a.order - b.order', 'b.order - a.order'],
      ['after an outage, every ticket is worked alone', '...(await workPortion(redelivered))', '...redelivered'],
      ['a first delivery whose size Neon refuses is never divided', 'isAgain || error.isAboutData', 'isAgain'],
      ['an outage of Postgres leaves no line', '        log({ step, ...outcome });', ''],
      [
        'of messages that were redelivered as often, the same is always in front',
        'order: message.attempts + random()',
        'order: message.attempts',
      ],
      [
        'a ticket that comes a second too early runs an event that was told to wait',
        'return seconds > 1 ?',
        'return seconds > 60 ?',
      ],
      ['a ticket comes back up to a second before its event may run', 'Math.ceil(seconds)', 'Math.floor(seconds)'],
      ['a message comes back after the shortest wait of its events', 'Math.max(...waits)', 'Math.min(...waits)'],
      ['the line of a failure does not say where it was', 'failure, reason, position };', 'failure, reason };'],
      [
        'what cannot be read comes back every few seconds for ever',
        `    case 'error':
      return backoff(ticketDeliveries, random);`,
        `    case 'error':
      return backoff(1, random);`,
      ],
      [
        'a message that is worked alone is noted as a group',
        'messages.length > 1 && messages.every(',
        'messages.every(',
      ],
      [
        'what cannot be written four times counts as written',
        `  }
  await write();`,
        '  }',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/db/effects.ts',
    ['e2e/effects', 'consumer/effects'],
    [
      ['the result of an old call closes the effect that a rerun has added', 'row}.generation', 'effects.generation}'],
      [
        'an effect that waits is noted as begun, and sent alone ever after',
        `
          and coalesce(\${effects.notBefore} <= \${at(begun)}, true)`,
        '',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/consumer/ask-handler.ts',
    ['consumer/events', 'consumer/mistakes', 'e2e/group'],
    [
      [
        'an event of a source that was renamed is ignored without a word',
        'if (configured === undefined) return',
        'if (configured === undefined) return undefined; if (configured === undefined) return',
      ],
      [
        'a handler can end the transaction in which its changes are committed',
        'if (controlsTransaction(query.sql)) return',
        'if (false) return',
      ],
      [
        "a handler's statement may name a table of the engine",
        'if (namesEngine(query.sql)) return',
        'if (false) return',
      ],
      ['a time ten days ahead is believed', 'MAX_AHEAD_MS = 86_400_000', 'MAX_AHEAD_MS = 864_000_000'],
      [
        'a handler gets no time if the sender gives none',
        'occurredAt: isBelievable ? occurredAt : receivedAt',
        'occurredAt: isBelievable ? occurredAt : (occurredAt && receivedAt)',
      ],
      ['a handler gets no raw body', 'raw: body,', "raw: '',"],
      [
        'of several paths that do not match only the first is named',
        "paths.join(', ') || 'its root'",
        "paths[0] || 'its root'",
      ],
      ['the steps of a path run together', "step.key : step)).join('.')", "step.key : step)).join('')"],
      [
        'a handler may return no more than 999 changes',
        'returned.length > MAX_CHANGES',
        'returned.length >= MAX_CHANGES',
      ],
      [
        'NUL in a list of lists fails the whole group',
        'query.params.flat(Number.POSITIVE_INFINITY)',
        'query.params.flat()',
      ],
      [
        'NUL in any but the first parameter fails the whole group',
        'params.every((param)',
        'params.slice(0, 1).every((param)',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/consumer/dead-letters.ts',
    ['consumer/messages'],
    [
      [
        'a dead letter is acknowledged, and its event is not parked',
        ': await parkEvents(db, keys.filter(isTicket), POISON, started);',
        ': [];',
      ],
      [
        'dead letters are deleted while Postgres is away',
        'message.retry({ delaySeconds: WAIT_SECONDS })',
        'message.ack()',
      ],
      ['of several dead letters only the first is logged', 'of parked) {', 'of parked.slice(0, 1)) {'],
    ],
  ),
  ...faultsIn(
    'engine/src/db/user-statement.ts',
    ['consumer/mistakes'],
    [['a handler can write with the database handle that it gets', '{ readOnly: true }', '{}']],
  ),
  ...faultsIn(
    'engine/src/kit/handler.ts',
    ['kit/newer'],
    [
      ['newer() lets an older event overwrite a newer one', '    > (', '    <> ('],
      [
        'of two events of one second, the one that was received earlier may win',
        `, \${incoming(receivedAt)}, \${incoming(changedBy)})
    > (\${changedAt}, \${receivedAt}, `,
        `, \${incoming(changedBy)})
    > (\${changedAt}, `,
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/consumer/consumer.ts',
    ['cron/alerts', 'cron/cron'],
    [
      [
        'pruning comes before the alerts, and leaves them no request on the Free plan',
        "await logFailure('alert', log, () =>",
        "await logFailure('prune', log, () => pruneOld(openDatabase(env.DATABASE_URL), env, now, log)); await logFailure('alert', log, () =>",
      ],
      ['a lost ticket is never sent again', 'await sendTickets(env.EVENTS, events)', 'true'],
    ],
  ),
  ...faultsIn(
    'engine/src/db/sweep.ts',
    ['db/sweep'],
    [
      [
        'the sweep sends the ticket of an event every 15 minutes, however long the event has been waiting',
        'greatest(',
        'least(',
      ],
      ['pruning deletes events that are pending or parked', 'before(dedupeDays)} and', 'before(dedupeDays)} or'],
      ['pruning deletes events that still have an effect to send', "<> 'sent'", "= 'nothing'"],
      [
        'pruning deletes an old event that another consumer still works',
        'LONGEST_RUN_MS = 3_600_000',
        'LONGEST_RUN_MS = 0',
      ],
      [
        'an effect that waits is taken as often as if its event had just been received',
        'nextDue(sql`overdue.waiting_since`)',
        `nextDue(sql\`\${effects.dueAt}\`)`,
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/consumer/messages.ts',
    ['consumer/messages'],
    [
      [
        'of a forwarded delivery only the first event is worked',
        'events: keys.map((eventId) => ({ source, eventId }))',
        'events: keys.slice(0, 1).map((eventId) => ({ source, eventId }))',
      ],
      [
        'a forwarded delivery with one broken event is acknowledged',
        'unreadable: unreadable.length > 0 };',
        'unreadable: false };',
      ],
      ['an outage of Postgres is logged as a delivery that cannot be read', 'if (!isAboutData) throw error;', ''],
    ],
  ),
  ...faultsIn(
    'engine/src/consumer/send-alerts.ts',
    ['cron/alerts', 'pure/time-limits'],
    [
      [
        'an alert about the same condition at another time has the same id, and is ignored as a repeated one',
        '[state, condition, source, failure, since]);',
        '[state, condition, source, failure]);',
      ],
      [
        'an alert about effects leads to a list of parked events',
        'effects > 0 ? [link({ effect_status: condition })]',
        'effects > 0 ? [link({ status: condition })]',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/db/alerts.ts',
    ['cron/alerts'],
    [
      [
        'the silence of one source is compared with the gaps of all',
        'hour - lag(hour) over (partition by source order by hour)',
        'hour - lag(hour) over (order by hour)',
      ],
      [
        'the history of a source ends with the last event of any source',
        'max(hour) over (partition by source)',
        'max(hour) over ()',
      ],
      ['an alert names the newest pending event', 'min(waiting_since)', 'max(waiting_since)'],
      [
        'an effect of an event that waited long is alerted about at once',
        `= 'pending' and \${events.finishedAt} <`,
        `= 'pending' and \${events.receivedAt} <`,
      ],
      [
        'the first tick reads all events there are',
        `greatest(\${now} - \${LOOK_BACK}::interval, max(\${hours.hour}))`,
        `max(\${hours.hour})`,
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/db/user-statement.ts',
    ['e2e/patterns'],
    [['must() lets a statement pass that changes no row', 'having count(*) = 0', 'having count(*) < 0']],
  ),
];
