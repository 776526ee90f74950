import { afterAll, beforeAll, expect, it } from 'vitest';
import { useDatabase } from '../database.ts';
import type { Fault } from './crash/interleaving.ts';
import { inLanes, type Lane, openLanes } from './crash/lanes.ts';
import { NeonInProcess } from './crash/neon.ts';
import { MIXED, POISON, type Scenario, SMALL } from './crash/scenarios.ts';
import { catchCalls, explain, type Trial, type Tried, tryOut } from './crash/trial.ts';
import { isLong, report, seed } from './form.ts';
import { randomFrom } from './random.ts';

const database = useDatabase();
let lanes: Lane[] = [];
let neon: NeonInProcess;
let release = () => {};

beforeAll(async () => {
  lanes = await openLanes(database.stack);
  neon = new NeonInProcess(database.stack.postgres.port);
  release = catchCalls();
});
afterAll(async () => {
  release();
  await neon?.close();
  for (const lane of lanes) await lane.close();
});

/** In the long form, each scenario is played in several orders. */
const ORDERS = isLong ? 5 : 1;
/** So many trials of each kind keep the short form short. */
const MOST = isLong ? Number.POSITIVE_INFINITY : 150;

const HOURS = 3_600_000;

const KINDS = ['error', 'end'] as const;

const random = randomFrom(seed);

/** A sample of a list, in the list's order. */
function sample<Item>(items: readonly Item[]): readonly Item[] {
  const share = MOST / items.length;
  return share >= 1 ? items : items.filter(() => random() < share);
}

/** Tries all of them out. What fails is explained, and a few explanations are enough. */
async function tryAll(trials: readonly Trial[], then: (trial: Trial, tried: Tried) => void = () => {}): Promise<void> {
  const failures: string[] = [];
  await inLanes(lanes, trials, async (trial, lane) => {
    if (failures.length >= 3) return;
    const tried = await tryOut(trial, lane, neon);
    if (tried.violations.length > 0) failures.push(explain(trial, tried));
    then(trial, tried);
  });
  if (failures.length > 0) throw new Error(failures.join('\n\n'));
}

/** The trials of a scenario with every single fault, in some orders. */
async function singleFaults(scenario: Scenario): Promise<Trial[]> {
  const trials: Trial[] = [];
  const baselines = Array.from({ length: ORDERS }, (_, n) => ({ scenario, seed: seed + n, faults: [] }));
  await tryAll(baselines, (baseline, { points }) => {
    for (const at of points.keys()) for (const kind of KINDS) trials.push({ ...baseline, faults: [{ at, kind }] });
  });
  return trials;
}

it.each([MIXED, SMALL, POISON])(
  'whichever single step of the scenario "$name" fails or ends its run, no event is lost, doubled or left over',
  async (scenario) => {
    const trials = sample(await singleFaults(scenario));
    const points = new Set<string>();
    await tryAll(trials, ({ faults: [fault], seed: order }) => points.add(`${order} ${fault?.at}`));
    report('crash points', row(scenario, { points: points.size, pairs: 0, trials: trials.length }));
  },
  HOURS,
);

it(
  'whichever two steps of the small scenario fail or end their runs, no event is lost, doubled or left over',
  async () => {
    const scenario = { ...SMALL, name: 'small' };
    const pairs: Trial[] = [];
    const firsts = (await singleFaults(scenario)).filter(({ seed: order }) => order === seed);
    await tryAll(firsts, (first, { points }) => {
      const [fault] = first.faults;
      for (let at = (fault?.at ?? 0) + 1; at < points.length; at++) {
        for (const kind of KINDS) pairs.push({ ...first, faults: [...first.faults, { at, kind }] });
      }
    });
    const trials = sample(pairs);
    const places = new Set<string>();
    await tryAll(trials, ({ faults }) => places.add(faults.map(({ at }) => at).join()));
    report(
      'crash points',
      row(scenario, { points: firsts.length / KINDS.length, pairs: places.size, trials: trials.length }),
    );
  },
  HOURS,
);

function row({ name }: Scenario, { points, pairs, trials }: { points: number; pairs: number; trials: number }) {
  const orders = pairs > 0 ? 1 : ORDERS;
  return { scenario: name, orders, 'crash points': points, pairs, trials, 'lost, doubled or left over': 0 };
}

/** Everything that single faults of some kinds show to be wrong. */
async function findings(scenario: Scenario, kinds: readonly Fault['kind'][], mistake: Trial['mistake']) {
  const [lane] = lanes;
  if (!lane) throw new Error('there is no lane');
  const found: string[] = [];
  const trial = { scenario, seed, faults: [], ...(mistake && { mistake }) };
  const { points, violations } = await tryOut(trial, lane, neon);
  found.push(...violations);
  for (const at of points.keys()) {
    for (const kind of kinds)
      found.push(...(await tryOut({ ...trial, faults: [{ at, kind }] }, lane, neon)).violations);
    if (found.length > 0) return found;
  }
  return found;
}

it('the check finds a receiver that answers before it claims', async () => {
  const receiver = (real: Parameters<NonNullable<NonNullable<Trial['mistake']>['receiver']>>[0]): typeof real => {
    return (request, env, ctx) => {
      ctx.waitUntil(Promise.resolve(real(request, env, ctx)));
      return new Response();
    };
  };
  expect(await findings(SMALL, ['end'], { receiver })).toContainEqual(expect.stringContaining('is gone and not done'));
}, 60_000);

it('the check finds a cron that sends no tickets', async () => {
  const found = await findings(SMALL, ['end'], { tick: async () => {} });
  expect(found).toContainEqual(expect.stringContaining('something stays pending'));
}, 60_000);

it('the check finds a completion that Postgres does not guard', async () => {
  const constraint = 'webhook_events drop constraint completed_at_most_once';
  await lanes[0]?.sql(`alter table ${constraint}`);
  expect(await findings(MIXED, ['error'], undefined)).toContainEqual(expect.stringContaining('the balance of'));
}, 60_000);
