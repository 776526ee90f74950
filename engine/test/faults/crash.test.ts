import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../database.ts';
import type { Fault } from './crash/interleaving.ts';
import { inLanes, type Lane, openLane, openLanes } from './crash/lanes.ts';
import { NeonInProcess } from './crash/neon.ts';
import { MIXED, OLD, ORDERED, POISON, type Scenario, SMALL } from './crash/scenarios.ts';
import { catchCalls, explain, type Trial, type Tried, tryOut } from './crash/trial.ts';
import type { Mistake } from './crash/world.ts';
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

/** Each scenario is played in several orders. In every second of them the queue repeats itself (see AdversarialQueue). */
const ORDERS = isLong ? 4 : 2;
/** So many trials of each kind keep the short form short. */
const MOST = isLong ? Number.POSITIVE_INFINITY : 100;

const HOURS = 3_600_000;

const KINDS = ['error', 'end'] as const;

const random = randomFrom(seed);

/** A sample of a list, in the list's order. */
function sample<Item>(items: readonly Item[]): readonly Item[] {
  const share = MOST / items.length;
  return share >= 1 ? items : items.filter(() => random() < share);
}

/** Tries all of them out, and returns those that met all their faults. What fails is explained, a few times at most. */
async function tryAll(trials: readonly Trial[], then: (trial: Trial, tried: Tried) => void = () => {}) {
  const failures: string[] = [];
  const met: Trial[] = [];
  await inLanes(lanes, trials, async (trial, lane) => {
    if (failures.length >= 3) return;
    const tried = await tryOut(trial, lane, neon);
    if (tried.violations.length > 0) failures.push(explain(trial, tried));
    if (trial.faults.every(({ at }) => at < tried.points.length)) met.push(trial);
    then(trial, tried);
  });
  if (failures.length > 0) throw new Error(failures.join('\n\n'));
  return met;
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

it.each([MIXED, POISON, OLD, ORDERED])(
  'whichever single step of the scenario $name fails or ends its run, no event is lost, doubled or left over',
  async (scenario) => {
    const trials = sample(await singleFaults(scenario));
    reportTrials(scenario, await tryAll(trials));
  },
  HOURS,
);

it(
  'whichever two steps of the scenario small fail or end their runs, no event is lost, doubled or left over',
  async () => {
    const pairs: Trial[] = [];
    const singles = await tryAll(sample(await singleFaults(SMALL)), (first, { points }) => {
      const [{ at: firstAt } = { at: 0 }] = first.faults;
      for (let at = firstAt + 1; at < points.length; at++) {
        for (const kind of KINDS) pairs.push({ ...first, faults: [...first.faults, { at, kind }] });
      }
    });
    reportTrials(SMALL, singles);
    reportTrials(SMALL, await tryAll(sample(pairs)));
  },
  HOURS,
);

/** How many places there were for one fault, or for two, and how many trials with them have passed. */
function reportTrials({ name }: Scenario, trials: readonly Trial[]): void {
  const places = new Set(trials.map((trial) => JSON.stringify([trial.seed, trial.faults.map(({ at }) => at)])));
  const faults = trials[0]?.faults.length ?? 0;
  const orders = new Set(trials.map((trial) => trial.seed)).size;
  const row = { scenario: name, 'faults in each trial': faults, orders, 'places of the faults': places.size };
  report('crash points', { ...row, trials: trials.length, 'lost, doubled or left over': 0 });
}

/** A mistake shows in one trial of twenty or so. */
const MOST_TRIES = 200;

/** What the check says about a system with a mistake, as soon as it says something with these words. */
async function finding(words: string, scenario: Scenario, kind: Fault['kind'], lane: Lane, mistake: Mistake = {}) {
  // Always the same orders and faults, because this is about the check and not about the code.
  for (let order = 1; order <= MOST_TRIES; order++) {
    const { violations } = await tryOut({ scenario, seed: order, faults: [{ at: order, kind }], mistake }, lane, neon);
    const found = violations.find((violation) => violation.includes(words));
    if (found) return found;
  }
  return undefined;
}

describe('the check can fail: it finds', () => {
  let lane: Lane;
  beforeAll(async () => {
    lane = await openLane(database.stack, 'mistakes');
  });
  afterAll(() => lane?.close());

  it('a receiver that answers before it claims', async () => {
    const receiver: Mistake['receiver'] = (real) => (request, env, ctx) => {
      ctx.waitUntil(Promise.resolve(real(request, env, ctx)));
      return new Response();
    };
    expect(await finding('is gone and not done', SMALL, 'end', lane, { receiver })).toBeDefined();
  });

  it('a cron that sends no tickets', async () => {
    expect(await finding('something stays pending', SMALL, 'end', lane, { hasNoCron: true })).toBeDefined();
  });

  it('a completion that Postgres does not guard', async () => {
    await lane.sql('alter table webhooks.events drop constraint completed_at_most_once');
    expect(await finding('the balance of', MIXED, 'error', lane)).toBeDefined();
  });
});
