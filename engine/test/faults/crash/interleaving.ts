import { AsyncLocalStorage } from 'node:async_hooks';
import { setImmediate } from 'node:timers/promises';

/** What happens at a crash point: its step fails with an error, or the run that it belongs to ends there for good. */
export interface Fault {
  readonly at: number;
  readonly kind: 'error' | 'end';
}

/** One run of a Worker: for a delivery, for a batch, or for the cron. */
export class Run {
  readonly name: string;
  readonly ending = Promise.withResolvers<void>();
  /** Nothing that it does from now on has any effect. */
  ended = false;
  /** Whether one of its steps failed on purpose. */
  hit = false;
  /** Calls of WebCrypto that have not answered yet. */
  computing = 0;
  /** Its requests to Postgres fail, as in an outage. This is a part of the scenario and not a fault. */
  readonly postgresAway: boolean;

  constructor(name: string, postgresAway = false) {
    this.name = name;
    this.postgresAway = postgresAway;
  }

  end(): void {
    this.ended = true;
    this.ending.resolve();
  }
}

/** In which run a call of the global `fetch` was made. */
export const runs = new AsyncLocalStorage<{ readonly run: Run; readonly call: typeof fetch }>();

/** More would only make it less likely that two of them work on the same event. */
const RUNS_AT_ONCE = 3;

/** A trial needs a few hundred. After this many, it will never end. */
const MAX_ROUNDS = 2000;

interface Waiting {
  readonly run: Run;
  readonly name: string;
  readonly go: (done: () => void) => void;
}

/**
 * Lets several runs go on at the same time, one step at a time, in an order that only the random numbers decide. So a
 * trial with the same numbers takes the same steps, until its first fault.
 */
export class Interleaving {
  /** The name of every crash point that was reached. */
  readonly points: string[] = [];
  readonly #random: () => number;
  readonly #faults: ReadonlyMap<number, Fault['kind']>;
  readonly #active = new Set<Run>();
  #waiting: Waiting[] = [];
  #changed = Promise.withResolvers<void>();

  constructor(random: () => number, faults: readonly Fault[]) {
    this.#random = random;
    this.#faults = new Map(faults.map(({ at, kind }) => [at, kind]));
  }

  /** Starts a run, and calls `after` once it is over, before anything else happens. */
  start(run: Run, call: typeof fetch, work: () => Promise<unknown>, after: (outcome: Outcome) => void): void {
    this.#active.add(run);
    const worked = runs.run({ run, call }, work).then(
      () => 'resolved' as const,
      () => 'rejected' as const,
    );
    const ended = run.ending.promise.then(() => 'ended' as const);
    void Promise.race([ended, worked]).then((outcome) => {
      this.#active.delete(run);
      after(outcome);
      this.#wake();
    });
  }

  /** A step that touches the outside, between two crash points: before it has any effect, and before its answer. */
  async step<Answer>(run: Run, name: string, work: () => Promise<Answer>, fail: () => Answer): Promise<Answer> {
    const done = await this.#turn(run, name);
    try {
      const before = this.point(run, name);
      if (before) return before === 'end' ? never() : fail();
      const answer = await work();
      const after = this.point(run, `${name}: the answer`);
      if (after) return after === 'end' ? never() : fail();
      return answer;
    } finally {
      done();
    }
  }

  /** A crash point. Returns what happens there, if anything. */
  point(run: Run, name: string): Fault['kind'] | undefined {
    const fault = this.#faults.get(this.points.length);
    this.points.push(`${run.name}: ${name}`);
    if (fault) run.hit = true;
    if (fault === 'end') run.end();
    return fault;
  }

  /** Goes on until no run is active and `later` finds nothing more to do. */
  async untilQuiet(startable: () => readonly (() => void)[], later: () => Promise<boolean>): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS; round++) {
      await this.#settle();
      const grants = this.#waiting.map((waiting) => () => this.#grant(waiting));
      const choices = [...grants, ...(this.#active.size < RUNS_AT_ONCE ? startable() : [])];
      const choice = choices[Math.floor(this.#random() * choices.length)];
      if (choice) await choice();
      else if (!(await later())) return;
    }
    throw new Error('it does not come to rest: something stays pending');
  }

  async #turn(run: Run, name: string): Promise<() => void> {
    if (run.ended) return never();
    return new Promise((go) => {
      this.#waiting.push({ run, name, go });
      // Not in the order of their arrival, which threads have a part in.
      this.#waiting.sort((a, b) => (labelOf(a) < labelOf(b) ? -1 : 1));
      this.#wake();
    });
  }

  /** Nothing else happens until the step is done. */
  async #grant(waiting: Waiting): Promise<void> {
    this.#waiting = this.#waiting.filter((other) => other !== waiting);
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.go(resolve);
    await promise;
  }

  /** Resolves when every run waits for its next step. */
  async #settle(): Promise<void> {
    for (;;) {
      // Code that waits for nothing but itself gets as far as it can.
      await setImmediate();
      this.#waiting = this.#waiting.filter(({ run }) => !run.ended);
      const isWaiting = (run: Run) => this.#waiting.some((waiting) => waiting.run === run);
      const active = [...this.#active];
      if (active.some(({ computing }) => computing > 0)) continue;
      if (active.every(isWaiting)) return;
      await this.#changed.promise;
    }
  }

  #wake(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }
}

function labelOf({ run, name }: Waiting): string {
  return `${run.name} ${name}`;
}

/** How a run ended: by itself, with an error, or by a fault. */
export type Outcome = 'resolved' | 'rejected' | 'ended';

function never(): Promise<never> {
  return new Promise(() => {});
}
