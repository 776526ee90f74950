import type { Mutant } from './mutant.ts';

const RECEIVE = 'src/receiver/receive.ts';
const FORWARD = 'src/receiver/claim-or-forward.ts';
const FORWARD_TEST = 'test/engine/receiver/claim-or-forward.test.ts';
const ANSWERS_TEST = 'test/engine/receiver/answers.test.ts';
const BAD_INPUT_TEST = 'test/engine/receiver/bad-input.test.ts';

/** Faults on the way from a request to its 200. */
export const receiver: readonly Mutant[] = [
  {
    fault: 'the 200 is sent before the claim',
    file: RECEIVE,
    find: 'const held = await claimOrForward(',
    replace: `void claimOrForward(claimRequest, env, log, claimTimeoutMs);
    return { outcome: 'forwarded', eventIds: events.map(({ eventId }) => eventId) }; const held = await claimOrForward(`,
    caughtBy: { file: ANSWERS_TEST, name: 'a delivery that neither Postgres nor the queue takes is answered 503' },
  },
  {
    fault: 'an event is claimed before its delivery is verified',
    file: RECEIVE,
    find: 'const verdict = await verify(',
    replace: `const early = await identify(source, delivery, randomId);
    if (early.outcome === 'identified')
      await claimOrForward({ source: name, events: early.events, headers: {}, receivedAt }, env, log, claimTimeoutMs);
    const verdict = await verify(`,
    caughtBy: { file: 'test/engine/receiver/providers/claims.test.ts', name: 'with a wrong signature or token' },
  },
  {
    fault: 'the body is parsed before it is verified, by the receiver',
    file: RECEIVE,
    find: 'const verdict = await verify(',
    replace: 'delivery.readJson(); const verdict = await verify(',
    caughtBy: { file: ANSWERS_TEST, name: 'the body of a delivery with a wrong signature is not parsed' },
  },
  {
    fault: 'a signed time is judged when the headers arrive, and not when the body is complete',
    file: RECEIVE,
    find: 'const body = await readBody(',
    replace: `const arrived = now();
  now = () => arrived;
  const body = await readBody(`,
    caughtBy: { file: ANSWERS_TEST, name: 'as old as it is when its body is complete' },
  },
  {
    fault: 'a known replay key under a new id fails the claim, and the delivery is forwarded',
    file: 'src/db/claim.ts',
    find: 'if (!isKnown) throw error;',
    replace: 'throw error;',
    caughtBy: { file: 'test/engine/db/claim.test.ts', name: 'is claimed as parked' },
  },
  {
    fault: 'a delivery ends with its connection, and the budget counts its bytes for ever',
    file: RECEIVE,
    find: 'keepAlive(c, () => answering);',
    replace: '',
    caughtBy: { file: 'test/engine/receiver/hostile-senders.test.ts', name: 'until a sender resets its connection' },
  },
  {
    fault: 'a duplicate does not ask whether its ticket is lost',
    file: RECEIVE,
    find: 'if (duplicates && ',
    replace: 'if (false && duplicates && ',
    caughtBy: { file: 'test/engine/e2e/pattern.test.ts', name: 'a duplicate of an event whose ticket was lost' },
  },
  {
    fault: 'the verify token of a subscription is compared with !==',
    file: 'src/receiver/handshake.ts',
    find: '!(await sameText(expected, given))',
    replace: 'expected !== given',
    caughtBy: { file: ANSWERS_TEST, name: 'crypto.subtle.verify alone decides whether a verify token is right' },
  },
  {
    fault: 'the previous secret is ignored, so that a rotation refuses deliveries',
    file: 'src/receiver/secrets.ts',
    find: '[current] : [current, previous]',
    replace: '[current] : [current]',
    caughtBy: { file: 'test/engine/receiver/secrets.test.ts', name: 'the current secret comes first' },
  },
  {
    fault: 'a source that has lost its secret goes on with the previous one',
    file: 'src/receiver/secrets.ts',
    find: 'if (current === undefined) return [];',
    replace: 'if (current === undefined) return previous ? [previous] : [];',
    caughtBy: { file: 'test/engine/receiver/secrets.test.ts', name: 'has lost its current secret' },
  },
  {
    fault: 'a body without an announced length may be of any size',
    file: 'src/receiver/body.ts',
    find: 'if (length + chunk.length > maxBytes)',
    replace: 'if (false)',
    caughtBy: { file: BAD_INPUT_TEST, name: 'a body over the limit is answered 413' },
  },
  {
    fault: 'a chunked body that announces a small length is read without a limit',
    file: 'src/receiver/body.ts',
    find: "headers.has('transfer-encoding') ? Number.NaN : ",
    replace: '',
    caughtBy: {
      file: 'test/engine/receiver/hostile-senders.test.ts',
      name: 'counted as it arrives, whatever length it',
    },
  },
  {
    fault: 'the body of a delivery without a signature is read into memory',
    file: RECEIVE,
    find: 'if (signaturesOfHead.size === 0 && ',
    replace: 'if (false && ',
    caughtBy: { file: 'test/engine/receiver/hostile-senders.test.ts', name: 'are refused before they are read' },
  },
  {
    fault: 'a mistake of our own is answered 500, so that GitHub never sends the event again',
    file: RECEIVE,
    find: "answer = answerTo({ outcome: 'error', thrown }, name);",
    replace: 'throw thrown;',
    caughtBy: { file: 'test/engine/receiver/hostile-senders.test.ts', name: 'an exception of our own code' },
  },
  {
    fault: 'a path may name a property that every object has as its source',
    file: RECEIVE,
    find: 'Object.hasOwn(sources, name) ? sources[name] : undefined',
    replace: 'sources[name]',
    caughtBy: { file: BAD_INPUT_TEST, name: 'a delivery to the source "constructor"' },
  },
  {
    fault: 'an id may hold control characters',
    file: 'src/receiver/identify.ts',
    find: ' && !/\\p{Cc}/u.test(text)',
    replace: '',
    caughtBy: { file: BAD_INPUT_TEST, name: 'an id with a line break' },
  },
  {
    fault: 'an event without a usable id is claimed under an empty one',
    file: 'src/receiver/identify.ts',
    find: "return text.trim() !== '' && isUsable(text);",
    replace: 'return isUsable(text);',
    caughtBy: { file: BAD_INPUT_TEST, name: 'is claimed once by its content: an empty id' },
  },
  {
    fault: 'the fingerprint is left out, so that a captured body runs again under a new id',
    file: 'src/receiver/identify.ts',
    find: 'fingerprint: await fingerprintOf(replayKeyOf(source, values), values)',
    replace: 'fingerprint: null',
    caughtBy: { file: 'test/engine/receiver/identify.test.ts', name: 'has the same replay key' },
  },
  {
    fault: 'a suspected replay is run, and not parked',
    file: 'src/db/claim.ts',
    find: "replay_number, 'parked',",
    replace: "replay_number, 'pending',",
    caughtBy: { file: 'test/engine/db/claim.test.ts', name: 'is claimed as parked in a second request' },
  },
  {
    fault: 'a claim takes its rows in the order of the delivery, so that two deliveries deadlock',
    file: 'src/db/claim.ts',
    find: 'from incoming order by event_id',
    replace: 'from incoming',
    caughtBy: { file: 'test/engine/db/claim.test.ts', name: 'carry the same events in opposite orders' },
  },
  {
    fault: 'a claim is awaited for as long as Postgres hangs, and its provider gives up',
    file: FORWARD,
    find: 'CLAIM_TIMEOUT_MS = 1500',
    replace: 'CLAIM_TIMEOUT_MS = 60_000',
    caughtBy: { file: 'test/engine/pure/time-limits.test.ts', name: 'a claim, whose delivery is forwarded' },
  },
  {
    fault: 'the deployed receiver has a time limit for claims that only tests should have',
    file: RECEIVE,
    find: 'claimTimeoutMs = CLAIM_TIMEOUT_MS',
    replace: 'claimTimeoutMs = 20 * CLAIM_TIMEOUT_MS',
    caughtBy: { file: 'test/engine/pure/time-limits.test.ts', name: 'a claim, whose delivery is forwarded' },
  },
  {
    fault: 'a delivery is not forwarded while Postgres is away',
    file: FORWARD,
    find: 'const message = await pack(request);',
    replace: 'const message = undefined;',
    caughtBy: { file: FORWARD_TEST, name: 'is forwarded with its whole delivery' },
  },
  {
    fault: 'a delivery that the queue refused too is answered 200',
    file: FORWARD,
    find: 'return isForwarded ?',
    replace: 'return true ?',
    caughtBy: { file: FORWARD_TEST, name: 'a delivery is not held if Postgres is away and the queue' },
  },
  {
    fault: 'a claim whose answer was lost gets no ticket',
    file: FORWARD,
    find: '!settled.has(id)',
    replace: 'claims.claimed.includes(id)',
    caughtBy: { file: FORWARD_TEST, name: 'a claim that committed although its answer was lost' },
  },
  {
    fault: 'a log line holds the body of an event',
    file: RECEIVE,
    find: 'const { events } = identified;',
    replace: `const { events } = identified;
    log({ step: 'delivery', outcome: 'identified', body: events[0]?.body });`,
    caughtBy: { file: 'test/engine/receiver/attackers.test.ts', name: 'shows its body to a reader of the queue' },
  },
  {
    fault: 'a log line holds the message of an error',
    file: 'src/shared/log.ts',
    find: 'error: error instanceof Error ? error.name :',
    replace: 'error: error instanceof Error ? error.message :',
    caughtBy: { file: 'test/engine/receiver/log.test.ts', name: 'a thrown value that is not an error' },
  },
  {
    fault: 'the signature is kept with the event',
    file: 'src/receiver/identify.ts',
    find: "KEPT_HEADERS = ['content-type'",
    replace: "KEPT_HEADERS = ['x-hub-signature-256', 'content-type'",
    caughtBy: { file: 'test/engine/receiver/intact.test.ts', name: 'but its signature is not' },
  },
  {
    fault: 'a secret that a provider hands over is logged as it is',
    file: 'src/receiver/handshake.ts',
    find: 'sealed: await seal(handedOver, secret)',
    replace: 'sealed: handedOver',
    caughtBy: { file: 'test/engine/receiver/providers/handshakes.test.ts', name: 'and shown sealed' },
  },
  {
    fault: 'the receiver may change events that are there',
    file: 'scripts/database/rights.ts',
    find: "select: ['source', 'eventId', 'fingerprint', 'replayNumber', 'status', 'dueAt'],",
    replace:
      "select: ['source', 'eventId', 'fingerprint', 'replayNumber', 'status', 'dueAt'],\n    update: ['status'],",
    caughtBy: {
      file: 'test/engine/db/roles.test.ts',
      name: 'the role of the receiver may not update webhooks.events set status',
    },
  },
  {
    // With one journal for both, every test of migrations ends here: so this is the seam that a fault would have to pass.
    fault: 'a migration that is older than the newest one applied is skipped without a word',
    file: 'scripts/database/migrations.ts',
    find: 'if (!skipped) return other + startOver;',
    replace: 'if (!skipped || skipped) return other + startOver;',
    caughtBy: { file: 'test/engine/local/migrations.test.ts', name: 'a migration that Drizzle would skip' },
  },
];
