import { createTenants } from '../src/tenants/index.ts';
import { type Contender, startReceiver, TENANTS_KEY } from './contenders.ts';
import { type BenchDatabase, startDatabase } from './database.ts';
import { BATCH, makeKeys, type SigningKeys } from './deliveries.ts';
import { type Load, startLoad } from './load.ts';
import { alternate, type Length, type Measured, percentile, type Row, Rows } from './rows.ts';
import { sourcesWithTenants } from './workers/sources.ts';

/** The number of concurrent senders. */
const CONNECTIONS = 32;

/**
 * Deliveries in a round. V8 collects garbage about every 6,000 deliveries, for up to 250 ms, and all rounds together
 * must include several collections of each contender.
 */
const SOURCES = {
  github: { title: 'GitHub (replay key)', amount: 1500, warmUp: 1000 },
  sendgrid: { title: `SendGrid (batch of ${BATCH})`, amount: 150, warmUp: 100 },
} as const;

/** Measures the ack, from the first byte of a delivery to its 200, at full speed, for new events and for duplicates. */
export async function benchAck({ rounds, part }: Length): Promise<Row[]> {
  const rows = new Rows();
  const keys = makeKeys();
  await using database = await startDatabase();
  await using load = await startLoad();
  await using started = new AsyncDisposableStack();
  const claimcheck = started.use(await startReceiver('claimcheck', database, keys));
  const contenders = [
    claimcheck,
    // The bare Worker is measured twice. The difference shows how much results vary by chance.
    started.use(await startReceiver('floor', database, keys)),
    started.use({ ...(await startReceiver('floor', database, keys)), name: 'floor again' }),
  ];
  for (const [source, { title, amount, warmUp }] of Object.entries(SOURCES) as [keyof typeof SOURCES, Source][]) {
    const context = { load, keys, database, source };
    const all: Contender[] =
      source === 'github' ? [...contenders, await asTenant(claimcheck, database, keys)] : contenders;
    for (const contender of all) await measure(contender, Math.max(CONNECTIONS, Math.ceil(warmUp * part)), context);
    const tasks = all.map((contender) => async () => {
      const { fresh, sendAgain } = await measure(contender, Math.max(CONNECTIONS, Math.ceil(amount * part)), context);
      rows.add(`ack, ${title}, new events`, contender.name, fresh);
      rows.add(`ack, ${title}, duplicates`, contender.name, await sendAgain());
    });
    await alternate(rounds, tasks);
  }
  return rows.all();
}

/** The same receiver, with deliveries of one tenant, whom the isolate knows. */
async function asTenant(receiver: Contender, { url }: BenchDatabase, keys: SigningKeys): Promise<Contender> {
  const tenants = createTenants({ sources: sourcesWithTenants, databaseUrl: url, tenantsKey: TENANTS_KEY });
  const made = await tenants.put('shops', 'acme', { secret: keys.github.secret });
  if (made.outcome === 'refused') throw new Error(`no tenant: ${made.reason}`);
  return { ...receiver, name: 'claimcheck, a tenant', path: made.address };
}

type Source = (typeof SOURCES)[keyof typeof SOURCES];

interface MeasureContext {
  readonly load: Load;
  readonly keys: SigningKeys;
  readonly database: BenchDatabase;
  readonly source: keyof typeof SOURCES;
}

let runs = 0;

/** Measures new events with empty tables. `sendAgain` measures the same deliveries again. */
async function measure(
  { url, path, cpu }: Contender,
  amount: number,
  { load, keys, database, source }: MeasureContext,
): Promise<{ fresh: Measured; sendAgain: () => Promise<Measured> }> {
  await database.client.query('truncate webhooks.events cascade');
  const job = { url, path, source, keys, run: `r${++runs}`, connections: CONNECTIONS, amount };
  const send = async (again: boolean): Promise<Measured> => {
    const before = [cpu(), database.cpu()] as const;
    const { latencies, seconds } = await load.send({ ...job, again });
    const own = cpu() - before[0];
    const postgres = database.cpu() - before[1];
    return {
      'deliveries/s': amount / seconds,
      'p50 ms': percentile(latencies, 50),
      'p99 ms': percentile(latencies, 99),
      'CPU ms per delivery': own / amount,
      'CPU ms per delivery in Postgres': postgres / amount,
    };
  };
  return { fresh: await send(false), sendAgain: () => send(true) };
}
