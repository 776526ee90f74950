import { Agent, request } from 'node:http';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { madeUpSecrets, signingKeyName } from '../../cli/config/dev-vars.ts';
import { LOOPBACK } from '../../cli/lib/port.ts';
import { providers } from '../../src/providers/index.ts';
import { secretName } from '../../src/receiver/secrets.ts';
import { useDatabase } from '../database.ts';
import { TOKEN } from '../ops-worker/start.ts';
import { usePlainWorkerd } from '../plain-workerd.ts';
import { delivery, type HostileDelivery, type Sent, signed } from './bad-input/deliveries.ts';
import { type OpsRequest, opsRequest, sentOf } from './bad-input/operators.ts';
import { sources } from './bad-input/sources.ts';
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

/** Far more than a delivery waits for its body (10 s), the claim and the queue, because the machine may be slow. */
const LONGEST_ANSWER_MS = 60_000;

const database = useDatabase();
const secrets = madeUpSecrets(sources);
const signingKey = (source: string) => secrets[signingKeyName(source)] ?? secrets[secretName(source)] ?? '';
// As they are deployed, each in workerd alone, so that its memory can be measured.
const receiver = usePlainWorkerd('engine/test/faults/bad-input/worker.ts', () => ({
  ...secrets,
  DATABASE_URL: database.stack.workerUrls.receiver,
}));
const ops = usePlainWorkerd('engine/test/fixture/ops.ts', () => ({
  OPS_TOKEN: TOKEN,
  DATABASE_URL: database.stack.workerUrls.ops,
}));
const kept = new Agent({ keepAlive: true });

/** The status, or undefined if the connection was closed without an answer, and how long it took. */
function send(
  sent: Sent,
  port: number,
  agent: Agent | false = kept,
): Promise<{ status: number | undefined; ms: number }> {
  const { method, path, headers, body } = sent;
  const started = performance.now();
  return new Promise((resolve) => {
    const end = (status?: number) => resolve({ status, ms: performance.now() - started });
    const timeout = LONGEST_ANSWER_MS;
    const sending = request({ host: LOOPBACK, port, method, path, headers, agent, timeout, setHost: false });
    sending.on('timeout', () => sending.destroy());
    sending.on('error', () => {
      // workerd may close a connection that was kept for the next request at the very moment when that is sent.
      const closedBefore = sending.reusedSocket && performance.now() - started < timeout;
      if (closedBefore) resolve(send(sent, port, false));
      else end();
    });
    sending.on('response', (response) => {
      response.resume().on('end', () => end(response.statusCode));
      response.on('error', () => end());
    });
    sending.end(body);
  });
}

/** How many events there are, and how many of them of sources whose keys nobody has. */
async function countEvents(): Promise<{ all: number; forged: number }> {
  const count = `select count(*)::int as "all", count(*) filter (where source like '%-unknown')::int as forged
                 from webhooks.events`;
  return (await database.sql<{ all: number; forged: number }>(count))[0] ?? { all: 0, forged: 0 };
}

it(`${CASES} hostile requests get no answer of 500 or above, none hangs, and nothing that is unverified reaches the database`, {
  timeout: isLong ? 60 * 60_000 : 120_000,
}, async () => {
  const counts = { signed: 0, verified: 0, ops: 0, letIn: 0 };
  const tried = new Set<string>();
  const heaps: number[] = [];
  let groups = 0;
  let slowest = 0;
  let mostMemory = 0;

  const one = async (hostile: HostileDelivery | OpsRequest) => {
    const isDelivery = hostile.kind === 'delivery';
    const { status, ms } = await (isDelivery
      ? send(signed(hostile, signingKey), receiver.port)
      : send(sentOf(hostile), (hostile.path.startsWith('/ops') ? ops : receiver).port));
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
  const anyRequest = fc.oneof({ weight: 3, arbitrary: delivery }, opsRequest);
  await fc.assert(
    fc.asyncProperty(fc.array(anyRequest, { minLength: GROUP, maxLength: GROUP }), async (group) => {
      await Promise.all(group.map(one));
      if ((await countEvents()).forged > 0)
        throw new Error(`an unverified event is in Postgres after ${JSON.stringify(group)}`);
      groups++;
      if (groups % GROUPS_PER_LOOK !== 0) return;
      heaps.push((await receiver.heap()) + (await ops.heap()));
      mostMemory = Math.max(mostMemory, receiver.memory(), ops.memory());
    }),
    // The error names the request. To make a group of twenty smaller would take as long as the test.
    { seed, numRuns: CASES / GROUP, endOnFailure: true },
  );

  expect([...receiver.lines(), ...ops.lines()].filter(({ outcome }) => outcome === 'error')).toEqual([]);
  // Otherwise the bodies would not even be looked at.
  expect(counts.verified).toBeGreaterThan(counts.signed / 2);
  expect(counts.letIn).toBeGreaterThan(counts.ops / 2);
  const [first, last] = [heaps.slice(0, LOOKS / 4), heaps.slice(-LOOKS / 4)].map((some) => Math.min(...some));
  expect(Number(last) - Number(first)).toBeLessThan(MAX_GROWTH_MIB);
  report('bad input', {
    requests: CASES,
    providers: Object.keys(providers).filter((name) => tried.has(name)).length,
    'signed correctly': counts.signed,
    'of these verified': counts.verified,
    'to the console': counts.ops,
    'of these let in': counts.letIn,
    'answered 5xx': 0,
    'unverified events kept': 0,
    'verified events kept': (await countEvents()).all,
    'slowest answer, ms': Math.round(slowest),
    'JavaScript at the beginning, MiB': Math.round(first ?? 0),
    'JavaScript at the end, MiB': Math.round(last ?? 0),
    'most memory of a process, MiB': Math.round(mostMemory),
  });
});
