import type { Charge, SourceName } from './app.ts';

/** What must have become of an event at the end. `finished` is done or parked. */
export type Expected = 'done' | 'ignored' | 'parked' | 'finished';

export interface ExpectedEvent {
  readonly id: string;
  readonly expected: Expected;
  readonly type?: string;
  readonly charge?: Charge;
  /** Its status if it was in the ledger before the trial began, for longer than what is finished is kept. */
  readonly was?: 'done' | 'parked' | 'pending';
}

export interface Sending {
  readonly source: SourceName;
  readonly body: string;
  /** Of GitHub, which sends its id in a header. */
  readonly id?: string;
  /** The first attempt finds Postgres away, so the delivery goes on the queue. */
  readonly postgresAway?: true;
  /** How often the provider sends it, even if it was answered 200. */
  readonly times: number;
  readonly atMinute: number;
  readonly events: readonly ExpectedEvent[];
}

export interface Scenario {
  readonly name: string;
  readonly sendings: readonly Sending[];
  /** At these minutes the cron runs. Afterwards it runs only when nothing else is left to do. */
  readonly ticks: readonly number[];
  /** At these minutes it also prunes, besides all that it does otherwise. */
  readonly prunes?: readonly number[];
  /** What the ledger of Stripe has at the beginning, for pruning. */
  readonly old: readonly ExpectedEvent[];
  /** How often the events queue delivers a message again before it gives up. */
  readonly maxRetries: number;
}

type Options = Partial<Pick<Sending, 'postgresAway' | 'times' | 'atMinute'>>;

interface Item {
  readonly id: string;
  readonly type: string;
  readonly expected: Expected;
  readonly charge?: Charge;
  readonly at?: string;
}

const defaults = { times: 1, atMinute: 0 };

function bodyOf({ id, type, charge, at = '2027-01-01T00:00:00Z' }: Item) {
  return { id, type, created: Date.parse(at) / 1000, data: charge ?? {} };
}

function fromKeyed(item: Item, options: Options = {}): Sending {
  return { source: 'keyed', body: JSON.stringify(bodyOf(item)), events: [item], ...defaults, ...options };
}

function fromStripe(item: Item, options: Options = {}): Sending {
  return { source: 'stripe', body: JSON.stringify(bodyOf(item)), events: [item], ...defaults, ...options };
}

function fromBatch(items: readonly Item[], options: Options = {}, source: 'batch' | 'going' = 'batch'): Sending {
  return { source, body: JSON.stringify(items.map(bodyOf)), events: items, ...defaults, ...options };
}

/** All of these have the same body, so all but the first that is claimed are suspected replays. */
function fromGithub(id: string, charge: Charge): Sending {
  return {
    source: 'github',
    id,
    body: JSON.stringify({ data: charge }),
    events: [{ id, expected: 'finished', charge }],
    ...defaults,
  };
}

// Each amount is a power of two, so that a wrong balance says which event is missing or doubled.
const amounts = Array.from({ length: 20 }, (_, n) => 2 ** n).values();
const charge = (customer: string, effects: Charge['effects'] = []): Charge => {
  const { value: amount = 0 } = amounts.next();
  return { customer, amount, effects };
};

const OK = { name: 'ok', fails: 'never' } as const;
const UNRELIABLE = { name: 'unreliable', fails: 'once' } as const;
const REFUSED = { name: 'refused', fails: 'always' } as const;

/** Everything that can become of an event. */
export const MIXED: Scenario = {
  name: 'mixed',
  sendings: [
    fromStripe({ id: 'evt_twice', type: 'charge', expected: 'done', charge: charge('ann', [OK]) }, { times: 2 }),
    fromBatch([
      { id: 'item_1', type: 'charge', expected: 'done', charge: charge('ann') },
      { id: 'item_2', type: 'charge', expected: 'done', charge: charge('bob', [UNRELIABLE]) },
      { id: 'item_3', type: 'nobody handles it', expected: 'ignored' },
      { id: 'item_4', type: 'charge', expected: 'parked' },
    ]),
    fromStripe({ id: 'evt_flaky', type: 'flaky', expected: 'done', charge: charge('bob') }),
    fromStripe({ id: 'evt_hopeless', type: 'hopeless', expected: 'parked' }, { atMinute: 1 }),
    fromGithub('push_1', { customer: 'cid', amount: 2 ** 18 }),
    fromGithub('push_2', { customer: 'cid', amount: 2 ** 18 }),
    fromStripe(
      { id: 'evt_forwarded', type: 'charge', expected: 'done', charge: charge('dan', [REFUSED]) },
      { postgresAway: true, times: 2 },
    ),
    fromBatch(
      [
        { id: 'item_5', type: 'charge', expected: 'done', charge: charge('ann', [OK]) },
        { id: 'item_6', type: 'charge', expected: 'done', charge: charge('bob') },
      ],
      { postgresAway: true, atMinute: 1 },
    ),
    fromStripe({ id: 'evt_reads', type: 'reads', expected: 'done', charge: charge('dan', [OK, UNRELIABLE]) }),
    fromStripe({ id: 'evt_newer', type: 'state', expected: 'done', at: '2027-01-01T00:00:02Z' }),
    fromStripe({ id: 'evt_older', type: 'state', expected: 'done', at: '2027-01-01T00:00:01Z' }, { atMinute: 1 }),
  ],
  ticks: [15, 30],
  old: [
    // It had its balance long ago.
    { id: 'old_done', was: 'done', expected: 'done', charge: { customer: 'old', amount: 0 } },
    { id: 'old_parked', was: 'parked', expected: 'parked', charge: { customer: 'old', amount: 0 } },
    // It is worked first, and pruned by a later tick.
    { id: 'old_pending', was: 'pending', expected: 'done', charge: { customer: 'old', amount: 2 ** 20 } },
  ],
  maxRetries: 100,
};

/** Small enough to try all pairs of faults: two sources, a duplicate, an effect, a forwarded batch. */
export const SMALL: Scenario = {
  name: 'small',
  sendings: [
    fromStripe({ id: 'evt_twice', type: 'charge', expected: 'done', charge: charge('ann', [OK]) }, { times: 2 }),
    fromBatch(
      [
        { id: 'item_1', type: 'charge', expected: 'done', charge: charge('ann') },
        { id: 'item_2', type: 'nobody handles it', expected: 'ignored' },
      ],
      { postgresAway: true },
    ),
  ],
  ticks: [15],
  old: [],
  maxRetries: 100,
};

/** An event that ends every run that it is worked in. Its neighbours may be parked with it, but never worked twice. */
export const POISON: Scenario = {
  name: 'poison',
  sendings: [
    fromStripe({ id: 'evt_kills', type: 'kills', expected: 'parked' }),
    fromStripe({ id: 'evt_neighbour', type: 'charge', expected: 'finished', charge: charge('ann', [OK]) }),
    fromBatch(
      [
        { id: 'item_1', type: 'charge', expected: 'finished', charge: charge('ann') },
        { id: 'item_2', type: 'charge', expected: 'finished', charge: charge('bob', [OK]) },
      ],
      { postgresAway: true },
    ),
  ],
  ticks: [15],
  old: [],
  maxRetries: 3,
};

/** Events that are due and, once they are finished, old enough to be pruned at once. */
export const OLD: Scenario = {
  name: 'old',
  sendings: [fromStripe({ id: 'evt_new', type: 'charge', expected: 'done', charge: charge('ann', [OK]) })],
  ticks: [0],
  prunes: Array.from({ length: 20 }, (_, n) => n / 60),
  old: Array.from({ length: 6 }, (_, n) => ({
    id: `old_${n}`,
    // Its handler takes a step of its own, in which the others go on.
    type: 'reads',
    was: 'pending',
    expected: 'done',
    charge: { customer: 'old', amount: 2 ** n },
  })),
  maxRetries: 100,
};

/** Events with order keys, in all the ways in which they may come: together, late, by the queue, twice, failing. */
export const ORDERED: Scenario = {
  name: 'ordered',
  sendings: [
    fromKeyed({ id: 'a_1', type: 'appends', expected: 'done', charge: charge('eve') }, { postgresAway: true }),
    fromKeyed({ id: 'a_2', type: 'adds', expected: 'done', charge: charge('eve', [OK]) }, { times: 2 }),
    fromKeyed({ id: 'a_3', type: 'flaky', expected: 'done', charge: charge('eve') }),
    fromKeyed({ id: 'a_4', type: 'appends', expected: 'done', charge: charge('eve') }, { postgresAway: true }),
    fromKeyed({ id: 'a_5', type: 'appends', expected: 'done', charge: charge('eve') }),
    fromKeyed({ id: 'a_6', type: 'adds', expected: 'done', charge: charge('eve') }, { atMinute: 1 }),
    fromKeyed({ id: 'b_1', type: 'adds', expected: 'done', charge: charge('fay') }),
    fromBatch(
      [
        { id: 'c_1', type: 'appends', expected: 'done', charge: charge('gus') },
        { id: 'c_2', type: 'hopeless', expected: 'parked', charge: { customer: 'gus', amount: 0 } },
        { id: 'c_3', type: 'adds', expected: 'done', charge: charge('gus') },
        { id: 'c_4', type: 'appends', expected: 'done', charge: charge('hal') },
      ],
      {},
      'going',
    ),
  ],
  ticks: [15, 30],
  old: [],
  maxRetries: 100,
};
