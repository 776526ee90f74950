import { violationsOf } from './check.ts';
import { type Fault, runs } from './interleaving.ts';
import type { Lane, Sql } from './lanes.ts';
import type { NeonInProcess } from './neon.ts';
import type { ExpectedEvent, Scenario } from './scenarios.ts';
import { createWorld, type Mistake, START } from './world.ts';

export interface Trial {
  readonly scenario: Scenario;
  readonly seed: number;
  readonly faults: readonly Fault[];
  readonly mistake?: Mistake;
}

export interface Tried {
  readonly points: readonly string[];
  readonly violations: readonly string[];
}

const EMPTY = `
  delete from webhooks.events; delete from webhooks.order_keys; delete from webhooks.alerts; delete from webhooks.hours;
  delete from fixture.balances; delete from fixture.states`;

/** Plays a scenario with its faults until nothing is left to do, and looks at what is in Postgres then. */
export async function tryOut(trial: Trial, lane: Lane, neon: NeonInProcess): Promise<Tried> {
  const { scenario } = trial;
  const { sql } = lane;
  await sql(EMPTY);
  for (const event of scenario.old) await insertOld(event, sql);
  const world = createWorld(trial, lane, neon);
  const { points } = world.interleaving;
  try {
    await world.untilQuiet();
  } catch (error) {
    return { points, violations: [String(error)] };
  }
  return { points, violations: await violationsOf(world, scenario, sql) };
}

/** Older than both DEDUPE_DAYS and BODY_DAYS. */
const LONG_AGO = new Date(START - 40 * 86_400_000);

async function insertOld({ id, type = 'charge', was, charge }: ExpectedEvent, sql: Sql): Promise<void> {
  await sql(
    `with event as (
       insert into webhooks.events (source, event_id, type, received_at, status, due_at, finished_at, completions)
       values ('stripe', $1, $5, $2, $3, $2, case when $3 <> 'pending' then $2::timestamptz end, ($3 = 'done')::int)
       returning source, event_id, received_at)
     insert into webhooks.bodies (source, event_id, received_at, body, headers) select *, $4, '{}' from event`,
    [id, LONG_AGO, was, JSON.stringify({ data: charge }), type],
  );
}

const MARKS = new Map<Fault['kind'] | undefined, string>([
  ['error', '  <-- an error'],
  ['end', '  <-- the run ends here'],
]);

/** What somebody needs to find out why a trial has failed. */
export function explain({ scenario, seed, faults }: Trial, { points, violations }: Tried): string {
  const faultAt = new Map(faults.map(({ at, kind }) => [at, kind]));
  const mark = (at: number) => MARKS.get(faultAt.get(at)) ?? '';
  const steps = points.map((point, at) => `${String(at).padStart(5)} ${point}${mark(at)}`);
  const title = `scenario ${scenario.name}, seed ${seed}, faults ${JSON.stringify(faults)}`;
  return [title, ...violations.map((violation) => `  ${violation}`), 'the crash points:', ...steps].join('\n');
}

const COMPUTATIONS = ['digest', 'importKey', 'sign', 'verify'] as const;

/**
 * Calls of `fetch` belong to the run that makes them, and so do those of WebCrypto: it works in threads of its own, and
 * without this the order of two steps of one run would depend on how busy the machine is. Returns how to undo it.
 */
export function catchCalls(): () => void {
  const real = globalThis.fetch;
  globalThis.fetch = (...args) => (runs.getStore()?.call ?? real)(...args);
  const { subtle } = crypto;
  for (const name of COMPUTATIONS) {
    const compute: (...args: never[]) => Promise<unknown> = Reflect.get(subtle, name).bind(subtle);
    const counted = async (...args: never[]) => {
      const run = runs.getStore()?.run;
      if (run) run.computing++;
      return compute(...args).finally(() => run && run.computing--);
    };
    Object.defineProperty(subtle, name, { value: counted, configurable: true });
  }
  return () => {
    globalThis.fetch = real;
    for (const name of COMPUTATIONS) Reflect.deleteProperty(subtle, name);
  };
}
