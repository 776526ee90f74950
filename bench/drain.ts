import { startDatabase } from './database.ts';
import { createTables, type Drainer, startClaimcheck, type Work } from './drain-claimcheck.ts';
import { startGraphile, startWire } from './drain-peers.ts';
import { alternate, type Length, type Row, Rows } from './rows.ts';

/** How many customers the events of a measurement have. */
const HOT = 10;
const SPREAD = 100_000;
const USUAL = { customers: SPREAD, consumers: 10, batch: 100, type: 'paid', deliveries: 1 } as const;

/** Every contender works at most this many events first. V8 has compiled its code by then. */
const WARM_UP = 500;

/** Every contender takes about this long for a second's events: long enough for a CPU clock of 10 ms. */
const EVENTS_PER_SECOND = 2000;

/** From a full queue to an empty one: against graphile-worker's jobs, and against a transaction by hand for each event. */
export async function benchDrain(length: Length): Promise<Row[]> {
  return drainAll(length, Math.min(10_000, Math.round(length.seconds * EVENTS_PER_SECOND)));
}

/** The same with ten times as many events. */
export async function benchLongDrain(length: Length): Promise<Row[]> {
  return drainAll(length, 100_000);
}

async function drainAll({ rounds, maxSeconds }: Length, events: number): Promise<Row[]> {
  const rows = new Rows();
  const database = await startDatabase();
  const drainers: Drainer[] = [];
  const warmUp = Math.min(WARM_UP, events);
  const start = async (starting: Promise<Drainer>) => {
    const drainer = await starting;
    drainers.push(drainer);
    await drainer.drain({ ...USUAL, events: warmUp });
    return drainer;
  };
  try {
    await createTables(database);
    const ours = await start(startClaimcheck(database));
    const tasks: ((round: number) => Promise<void>)[] = [];
    // Variants that an aim is about are measured in every round, the others only in the first.
    const compare = (row: string, drainer: Drainer, what: string, work: Partial<Work> = {}, isOnce = false) =>
      tasks.push(async (round) => {
        if (isOnce && round > 0) return;
        const measured = await drainer.drain({ ...USUAL, events, ...work });
        rows.add(`drain of ${events.toLocaleString('en')} events, ${row}`, drainer.name + what, measured);
      });

    const ten = '10 consumers';
    compare(ten, ours, '');
    compare(ten, ours, ', hot rows', { customers: HOT });
    compare(ten, ours, ', after an outage', { deliveries: 5 });
    compare(ten, ours, ', SQL by hand', { type: 'paid, SQL by hand' });
    compare(ten, ours, ', an effect each', { type: 'paid, with an effect' }, true);
    compare(ten, ours, ', hot rows, an effect each', { customers: HOT, type: 'paid, with an effect' }, true);
    compare(ten, ours, ', batches of 10', { batch: 10 }, true);
    compare(ten, ours, ', batches of 1', { batch: 1 }, true);
    compare(ten, await start(startGraphile(10, false, database)), '');
    compare(ten, await start(startGraphile(10, true, database)), '');
    compare(ten, await start(startWire(database)), '');
    const one = '1 consumer';
    compare(one, ours, '', { consumers: 1 });
    compare(one, ours, ', batches of 10', { consumers: 1, batch: 10 }, true);
    compare(one, await start(startGraphile(1, false, database)), '');
    compare(one, await start(startGraphile(1, true, database)), '');

    await alternate(rounds, tasks, maxSeconds);
    return rows.all();
  } finally {
    for (const drainer of drainers) await drainer.stop();
    await database.stop();
  }
}
