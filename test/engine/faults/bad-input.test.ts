import fc from 'fast-check';
import { expect, it } from 'vitest';
import { providers } from '../../../src/providers/index.ts';
import { TOKEN } from '../ops-worker/start.ts';
import { usePlainWorkerd } from '../receiver/plain/workerd.ts';
import { delivery, type HostileDelivery, signed } from './bad-input/deliveries.ts';
import { type OpsRequest, opsRequest, sentOf } from './bad-input/operators.ts';
import { useHostileReceiver } from './bad-input/receiver.ts';
import { isLong, report, seed } from './form.ts';

const CASES = isLong ? 100_000 : 2_000;

/** Sent at the same time. */
const GROUP = 50;

/** How often the memory is looked at. The least of the first quarter is compared with the least of the last. */
const LOOKS = 20;
const GROUPS_PER_LOOK = CASES / GROUP / LOOKS;

/**
 * What the JavaScript of both Workers may need more at the end than at the beginning, after its garbage was collected. If
 * each of 100,000 requests left half a KiB behind, it would be more. The memory of a whole process says less: for a Worker
 * that does nothing at all, workerd's own grows by 180 MiB in its first 20,000 requests, and then stays as it is.
 */
const MAX_GROWTH_MIB = 32;

/** What a delivery may be answered while Postgres and the queue work. A status of 500 or above would be our mistake. */
const DELIVERY_STATUSES = [200, 204, 400, 401, 405, 413];

const receiver = useHostileReceiver();
const ops = usePlainWorkerd(
  'test/engine/faults/bad-input/wrangler.ops.toml',
  () => ({ OPS_TOKEN: TOKEN, DATABASE_URL: receiver.database.stack.workerUrls.ops }),
  { queues: ['EVENTS', 'EFFECTS'] },
);

it(`${CASES} hostile requests get no answer of 500 or above, none hangs, and nothing that is unverified reaches the database`, {
  timeout: isLong ? 60 * 60_000 : 120_000,
}, async () => {
  const { workerd, send, forged } = receiver;
  const counts = { signed: 0, verified: 0, ops: 0, letIn: 0 };
  const tried = new Set<string>();
  const heaps: number[] = [];
  let groups = 0;
  let slowest = 0;
  let mostMemory = 0;

  const one = async (hostile: HostileDelivery | OpsRequest) => {
    const isDelivery = hostile.kind === 'delivery';
    const { status, ms } = await (isDelivery
      ? send(signed(hostile, receiver))
      : send(sentOf(hostile), hostile.path.startsWith('/ops') ? ops : workerd));
    slowest = Math.max(slowest, ms);
    const told = `${status} after ${Math.round(ms)} ms for ${JSON.stringify(hostile)}`;
    if (status === undefined || status >= 500) throw new Error(told);
    if (!isDelivery) {
      counts.ops++;
      if (status !== 401 && status !== 403) counts.letIn++;
      return;
    }
    tried.add(hostile.source);
    if (!DELIVERY_STATUSES.includes(status)) throw new Error(told);
    if (hostile.source.endsWith('-unknown')) return;
    counts.signed++;
    if (status === 200 || status === 400) counts.verified++;
  };
  const request = fc.oneof({ weight: 3, arbitrary: delivery }, opsRequest);
  await fc.assert(
    fc.asyncProperty(fc.array(request, { minLength: GROUP, maxLength: GROUP }), async (group) => {
      await Promise.all(group.map(one));
      if ((await forged()) > 0) throw new Error(`an unverified event is in Postgres after ${JSON.stringify(group)}`);
      groups++;
      if (groups % GROUPS_PER_LOOK !== 0) return;
      heaps.push((await workerd.heap()) + (await ops.heap()));
      mostMemory = Math.max(mostMemory, workerd.memory(), ops.memory());
    }),
    // The error names the request. To make a group of twenty smaller would take as long as the test.
    { seed, numRuns: CASES / GROUP, endOnFailure: true },
  );

  expect([...workerd.lines(), ...ops.lines()].filter(({ outcome }) => outcome === 'error')).toEqual([]);
  // Otherwise the bodies would not even be looked at.
  expect(counts.verified).toBeGreaterThan(counts.signed / 2);
  expect(counts.letIn).toBeGreaterThan(counts.ops / 2);
  const [first, last] = [heaps.slice(0, LOOKS / 4), heaps.slice(-LOOKS / 4)].map((some) => Math.min(...some));
  expect(Number(last) - Number(first)).toBeLessThan(MAX_GROWTH_MIB);
  const events = await receiver.database.sql<{ count: number }>('select count(*)::int from webhooks.events');
  report('bad input', {
    requests: CASES,
    providers: Object.keys(providers).filter((name) => tried.has(name)).length,
    'signed correctly': counts.signed,
    'of these verified': counts.verified,
    'to the console': counts.ops,
    'of these let in': counts.letIn,
    'answered 5xx': 0,
    'unverified events kept': 0,
    'verified events kept': events[0]?.count ?? 0,
    'slowest answer, ms': Math.round(slowest),
    'JavaScript at the beginning, MiB': Math.round(first ?? 0),
    'JavaScript at the end, MiB': Math.round(last ?? 0),
    'most memory of a process, MiB': Math.round(mostMemory),
  });
});
