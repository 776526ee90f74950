import fc from 'fast-check';
import { expect, it } from 'vitest';
import { Signer } from '../../../src/console/session.ts';
import { providers } from '../../../src/providers/index.ts';
import { delivery, type HostileDelivery, signed } from './bad-input/deliveries.ts';
import { type HostileVisit, sentOf, visit } from './bad-input/operators.ts';
import { useHostileReceiver } from './bad-input/receiver.ts';
import { isLong, report, seed } from './form.ts';

const CASES = isLong ? 100_000 : 2_000;

/** Sent at the same time. */
const GROUP = 20;

/** Groups before the memory counts: until then, the JavaScript engine compiles code and fills its heap. */
const WARM_UP = CASES / GROUP / 10;

/**
 * What workerd may occupy more than after the warm-up. Its garbage collector lets the heap grow for a while, but what
 * 90,000 requests leave behind would be larger: a KiB of each is 88 MiB.
 */
const MAX_GROWTH_MIB = 64;

/** The statuses of docs/… that depend on what was sent. All those of 500 and above would be mistakes of ours. */
const DELIVERY_STATUSES = [200, 204, 400, 401, 405, 413];

const receiver = useHostileReceiver();

it(`${CASES} hostile requests get no answer of 500 or above, none hangs, and nothing that is unverified reaches the database`, {
  timeout: isLong ? 60 * 60_000 : 120_000,
}, async () => {
  const { workerd, send, forged } = receiver;
  // Of a console that is open: then its forms are signed with this secret, for an operator of this name.
  const formToken = await new Signer(receiver.database.stack.databaseUrl).formToken('local');
  const counts = { signed: 0, verified: 0, visits: 0 };
  const tried = new Set<string>();
  const memory = { warm: 0, most: 0 };
  let [groups, slowest] = [0, 0];

  const one = async (hostile: HostileDelivery | HostileVisit) => {
    const isDelivery = hostile.kind === 'delivery';
    const { status, ms } = await send(isDelivery ? signed(hostile, receiver) : sentOf(hostile));
    slowest = Math.max(slowest, ms);
    const told = `${status} after ${Math.round(ms)} ms for ${JSON.stringify(hostile)}`;
    if (status === undefined || status >= 500) throw new Error(told);
    if (!isDelivery) {
      counts.visits++;
      return;
    }
    tried.add(hostile.source);
    if (!DELIVERY_STATUSES.includes(status)) throw new Error(told);
    if (hostile.source.endsWith('-unknown')) return;
    counts.signed++;
    if (status === 200 || status === 400) counts.verified++;
  };
  const request = fc.oneof({ weight: 3, arbitrary: delivery }, visit(formToken));
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: GROUP, maxLength: GROUP }), async (group) => {
      await Promise.all(group.map(one));
      if ((await forged()) > 0) throw new Error(`an unverified event is in Postgres after ${JSON.stringify(group)}`);
      groups++;
      if (groups === WARM_UP) memory.warm = workerd.memory();
      if (groups % WARM_UP === 0) memory.most = Math.max(memory.most, workerd.memory());
    }),
    // The error names the request. To make a group of twenty smaller would take as long as the test.
    { seed, numRuns: CASES / GROUP, endOnFailure: true },
  );

  expect(workerd.lines().filter(({ outcome }) => outcome === 'error')).toEqual([]);
  // Otherwise the bodies would not even be looked at.
  expect(counts.verified).toBeGreaterThan(counts.signed / 2);
  expect(memory.most - memory.warm).toBeLessThan(MAX_GROWTH_MIB);
  const events = await receiver.database.sql<{ count: number }>('select count(*)::int from webhook_events');
  report('bad input', {
    requests: CASES,
    providers: Object.keys(providers).filter((name) => tried.has(name)).length,
    'signed correctly': counts.signed,
    'of these verified': counts.verified,
    'to the console': counts.visits,
    'answered 5xx': 0,
    'unverified events kept': 0,
    'verified events kept': events[0]?.count ?? 0,
    'slowest answer, ms': Math.round(slowest),
    'memory after the first tenth, MiB': Math.round(memory.warm),
    'most memory, MiB': Math.round(memory.most),
  });
});
