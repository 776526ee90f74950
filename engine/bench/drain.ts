import { startDatabase } from './database.ts';
import { createTables, type Drainer, startClaimcheck, type Work } from './drain-claimcheck.ts';
import { startGraphile, startWire } from './drain-peers.ts';
import { alternate, type Length, LINE_MS, LINE_ROW, type Row, Rows } from './rows.ts';

/** The number of customers in a measurement. */
const HOT = 10;
const SPREAD = 100_000;
const USUAL = { customers: SPREAD, consumers: 10, batch: 100, type: 'paid', deliveries: 1 } as const;

/** Every contender first works at most this many events, so that V8 has compiled its code. */
const WARM_UP = 500;

const EVENTS = 10_000;

/** Measures emptying a full queue, compared with graphile-worker and with a handwritten transaction for each event. */
export async function benchDrain({ rounds, part, maxSeconds }: Length): Promise<Row[]> {
  const events = Math.round(EVENTS * part);
  const rows = new Rows();
  await using database = await startDatabase();
  await using started = new AsyncDisposableStack();
  const warmUp = Math.min(WARM_UP, events);
  const start = async (starting: Promise<Drainer>) => {
    const drainer = started.use(await starting);
    await drainer.drain({ ...USUAL, events: warmUp });
    return drainer;
  };
  await createTables(database);
  const ours = await start(startClaimcheck(database));
  const tasks: ((round: number) => Promise<void>)[] = [];
  // `isOnce` is for variants without an aim, which are measured only in the first round.
  const compare = (drainer: Drainer, what = '', work: Partial<Work> = {}, isOnce = false) =>
    tasks.push(async (round) => {
      if (isOnce && round > 0) return;
      const measured = await drainer.drain({ ...USUAL, events, ...work });
      rows.add(
        `drain of ${events.toLocaleString('en')} events, ${USUAL.consumers} consumers`,
        drainer.name + what,
        measured,
      );
    });

  compare(ours);
  // The same variant again. The difference shows how much results vary by chance.
  compare(ours, ' again');
  compare(ours, ', hot rows', { customers: HOT }, true);
  compare(ours, ', after an outage', { deliveries: 5 });
  compare(ours, ', SQL by hand', { type: 'paid, SQL by hand' });
  compare(ours, ', an effect each', { type: 'paid, with an effect' }, true);
  compare(ours, ', batches of 10', { batch: 10 }, true);
  compare(ours, ', batches of 1', { batch: 1 }, true);
  compare(await start(startGraphile('default', 10, database)));
  compare(await start(startGraphile('local queue', 10, database)));
  compare(await start(startGraphile('tuned', 24, database)), '', {}, true);
  compare(await start(startWire(database)), '', {}, true);

  compare(ours, ', 1,000 order keys', { keys: 1000 });
  // One order key, so one consumer at a time, with Postgres as far away as in another building.
  const oneKey = (what: string, type: Work['type'], number: number) =>
    tasks.push(async (round) => {
      if (round > 0) return;
      await database.setLatency(LINE_MS);
      const measured = await ours.drain({ ...USUAL, events: Math.ceil(number * part), type, keys: 1 });
      await database.setLatency(0);
      rows.add(LINE_ROW, what, measured);
    });
  oneKey('handlers that only write', 'paid', 5000);
  oneKey('handlers that read', 'paid, reading', 500);

  await alternate(rounds, tasks, maxSeconds);
  return rows.all();
}
