import { faultsIn, type Mutant } from './mutant.ts';

/** Faults on the way from a request to its 200. */
export const receiver: readonly Mutant[] = [
  ...faultsIn(
    'engine/src/receiver/receive.ts',
    [
      'receiver/answers',
      'receiver/providers/claims',
      'receiver/hostile-senders',
      'e2e/pattern',
      'receiver/bad-input',
      'pure/time-limits',
      'receiver/attackers',
    ],
    [
      [
        'the 200 is sent before the claim',
        'const held = await claimOrForward(',
        `void claimOrForward(claimRequest, env, log, claimTimeoutMs);
    return { outcome: 'forwarded', eventIds: events.map(({ eventId }) => eventId) }; const held = await claimOrForward(`,
      ],
      [
        'an event is claimed before its delivery is verified',
        'const verdict = await verify(',
        `const early = await identify(source, delivery, randomId);
    if (early.outcome === 'identified')
      await claimOrForward({ source: name, events: early.events, headers: {}, receivedAt }, env, log, claimTimeoutMs);
    const verdict = await verify(`,
      ],
      [
        'the body is parsed before it is verified, by the receiver',
        'const verdict = await verify(',
        'delivery.readJson(); const verdict = await verify(',
      ],
      [
        'a signed time is judged when the headers arrive, and not when the body is complete',
        'const body = await readBody(',
        `const arrived = now();
  now = () => arrived;
  const body = await readBody(`,
      ],
      [
        'a delivery ends with its connection, and the budget counts its bytes for ever',
        'keepAlive(c, () => answering);',
        '',
      ],
      ['a duplicate does not ask whether its ticket is lost', 'if (duplicates && ', 'if (false && duplicates && '],
      [
        'a suspected replay in a batch counts as a duplicate',
        'eventIds.length - accepted',
        'eventIds.length - claims.claimed.length',
      ],
      [
        'a batch with one new event does not ask for the lost tickets of the others',
        '(duplicate > 0 ? {',
        '(accepted === 0 ? {',
      ],
      [
        'the answer that a provider demands is given only while Postgres is away',
        '{ status, accepted, duplicate }, ack)',
        '{ status, accepted, duplicate }, undefined)',
      ],
      [
        'a body gives back its bytes and not its blocks, so that the budget fills up',
        'giveBack(body.held)',
        'giveBack(body.bytes.length)',
      ],
      [
        'the body of a delivery without a signature is read into memory',
        'if (signaturesOfHead.size === 0 && ',
        'if (false && ',
      ],
      [
        'a mistake of our own is answered 500, so that GitHub never sends the event again',
        "answer = answerTo({ outcome: 'error', thrown }, name);",
        'throw thrown;',
      ],
      [
        'a path may name a property that every object has as its source',
        'Object.hasOwn(sources, name) ? sources[name] : undefined',
        'sources[name]',
      ],
      [
        'the deployed receiver has a time limit for claims that only tests should have',
        'claimTimeoutMs = CLAIM_TIMEOUT_MS',
        'claimTimeoutMs = 20 * CLAIM_TIMEOUT_MS',
      ],
      [
        'a log line holds the body of an event',
        'const { events } = identified;',
        `const { events } = identified;
    log({ step: 'delivery', outcome: 'identified', body: events[0]?.body });`,
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/db/claim.ts',
    ['db/claim'],
    [
      [
        'a known replay key under a new id fails the claim, and the delivery is forwarded',
        'if (!isKnown) throw error;',
        'throw error;',
      ],
      ['a suspected replay is run, and not parked', "replay_number, 'parked',", "replay_number, 'pending',"],
      [
        'a claim takes its rows in the order of the delivery, so that two deliveries deadlock',
        'from incoming order by event_id',
        'from incoming',
      ],
      ['eleven suspected replays may wait', 'MAX_REPLAYS = 10', 'MAX_REPLAYS = 11'],
      [
        'the replays of all sources count towards one limit',
        ` = incoming.fingerprint and \${events.source} = \${param.source}`,
        ' = incoming.fingerprint',
      ],
      [
        'an id that another source has used is known',
        `select event_id, \${HOLDER} from incoming join \${events} using (event_id)
  where \${events.source} = \${param.source} and`,
        `select event_id, \${HOLDER} from incoming join \${events} using (event_id)
  where`,
      ],
      [
        'an event whose id a suspected replay has is parked',
        `when \${events.replayNumber} > 0 then 'taken`,
        "when false then 'taken",
      ],
      ['an event whose id a real event has is run', "else 'taken' end", "else 'taken_by_replay' end"],
      [
        'an event with a known signed id is another event if its replay key is another',
        `case when not \${param.unsignedIds}::boolean or`,
        `case when \${param.unsignedIds}::boolean is null or`,
      ],
      [
        'the first event of a replay key counts as a replay that waits',
        `filter (where \${events.replayNumber} > 0 and`,
        'filter (where',
      ],
      [
        'a suspected replay names any event with its replay key',
        `order by \${events.replayNumber}))[1]`,
        `order by \${events.replayNumber} desc))[1]`,
      ],
      [
        'an overdue event of another source is found',
        `where \${events.source} = \${source} and \${events.eventId} = any`,
        `where \${events.eventId} = any`,
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/receiver/handshake.ts',
    ['receiver/answers', 'receiver/providers/handshakes'],
    [
      [
        'the verify token of a subscription is compared with !==',
        '!(await sameText(expected, given))',
        'expected !== given',
      ],
      [
        'a secret that a provider hands over is logged as it is',
        'sealed: await seal(handedOver, secret)',
        'sealed: handedOver',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/receiver/secrets.ts',
    ['receiver/answers'],
    [
      [
        'the previous secret is ignored, so that a rotation refuses deliveries',
        '[current, previous] : [current]',
        '[current] : [current]',
      ],
      [
        'a source that has lost its secret goes on with the previous one',
        'if (!current) return [];',
        'if (!current) return previous ? [previous] : [];',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/receiver/body.ts',
    ['receiver/bad-input', 'receiver/hostile-senders'],
    [
      ['a body without an announced length may be of any size', 'if (length + chunk.length > maxBytes)', 'if (false)'],
      [
        'a chunked body that announces a small length is read without a limit',
        "headers.has('transfer-encoding') ? Number.NaN : ",
        '',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/receiver/identify.ts',
    ['receiver/bad-input', 'receiver/identify', 'pure/batches', 'receiver/intact'],
    [
      ['an id may hold control characters', ' && !/\\p{Cc}/u.test(text)', ''],
      ['an event without a usable id is claimed under an empty one', "return text.trim() !== '' &&", 'return'],
      [
        'the fingerprint is left out, so that a captured body runs again under a new id',
        'fingerprint: await fingerprintOf(replayKeyOf(source, values), values)',
        'fingerprint: null',
      ],
      [
        'the signature is kept with the event',
        "KEPT_HEADERS = ['content-type'",
        "KEPT_HEADERS = ['x-hub-signature-256', 'content-type'",
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/receiver/claim-or-forward.ts',
    ['pure/time-limits', 'receiver/claim-or-forward'],
    [
      [
        'a claim is awaited for as long as Postgres hangs, and its provider gives up',
        'CLAIM_TIMEOUT_MS = 1500',
        'CLAIM_TIMEOUT_MS = 60_000',
      ],
      [
        'a delivery is not forwarded while Postgres is away',
        'const message = await pack(request);',
        'const message = undefined;',
      ],
      ['a delivery that the queue refused too is answered 200', 'return isForwarded ?', 'return true ?'],
      ['a claim whose answer was lost gets no ticket', '[...claims.claimed, ...claims.known]', 'claims.claimed'],
      [
        'a suspected replay gets a ticket',
        'return { claims, pending: [',
        'return { claims, pending: [...claims.parked, ',
      ],
      [
        'the log names all events of a delivery as those without a ticket',
        "outcome: 'not_sent', ...about(pending)",
        "outcome: 'not_sent', ...about(eventIds)",
      ],
      [
        'a look-up of lost tickets waits for as long as Postgres hangs',
        'findOverdue(openDatabase(env.DATABASE_URL), ',
        "findOverdue(openDatabase(env.DATABASE_URL, 'by the caller'), ",
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/shared/log.ts',
    ['receiver/log'],
    [
      [
        'a log line holds the message of an error',
        'error: error instanceof Error ? nameOf(error) :',
        'error: error instanceof Error ? error.message :',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/receiver/receive.ts',
    ['receiver/bad-input', 'receiver/answers', 'receiver/providers/handshakes'],
    [
      [
        'the limit of a provider goes before the one that a source sets',
        'source.maxBytes ?? provider.maxBytes ??',
        'provider.maxBytes ?? source.maxBytes ??',
      ],
      [
        'only the first missing secret of all sources is logged',
        '!reported.has(missing.variable)',
        'reported.size === 0',
      ],
      ['lost tickets are looked up ten times a second', 'LOOK_UP_EVERY_MS = 1000', 'LOOK_UP_EVERY_MS = 100'],
      [
        'a handshake is signed with the current secret although the previous one has signed it',
        "secrets[secretIndex] ?? ''",
        "secrets[0] ?? ''",
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/queue/forwarded.ts',
    ['pure/round-trips', 'pure/queue'],
    [
      [
        'a forwarded event loses its replay key',
        'return { eventId, type, occurredAt, fingerprint, body };',
        'return { eventId, type, occurredAt, fingerprint: null, body };',
      ],
      [
        'one unusable event of a forwarded delivery takes the others along',
        'events: usable ? events.flatMap(({ event }) => event ?? []) : [],',
        'events: usable && events.every(({ event }) => event) ? events.flatMap(({ event }) => event ?? []) : [],',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/queue/tickets.ts',
    ['pure/time-limits', 'pure/queue'],
    [
      [
        'a slow queue is waited for as long as it takes',
        'return withTimeLimit(SEND_TIMEOUT_MS, sent, () => false);',
        'return sent;',
      ],
    ],
  ),
  ...faultsIn(
    'engine/src/consumer/index.ts',
    ['pure/time-limits'],
    [['the deployed consumer waits half a minute for an effect', 'effectMs: 10_000', 'effectMs: 30_000']],
  ),
  ...faultsIn(
    'engine/src/ops/input.ts',
    ['pure/round-trips', 'pure/input'],
    [['a rerun that does not say so sends the effects again', 'effects = false }', 'effects = true }']],
  ),
];
