import pg from 'pg';
import type { NeonRequest } from '../cli/local/neon/endpoint.ts';
import { startStack } from '../cli/local/stack.ts';
import { loadMatching } from '../src/db/actions.ts';
import { openDatabase } from '../src/db/client.ts';
import type { EventFilter } from '../src/db/filter.ts';
import { loadMetrics, loadStatus } from '../src/db/status.ts';
import { type Cursor, listEvents, loadDetails } from '../src/db/views.ts';
import { writeSection } from './page-section.ts';

const EVENTS = 1_000_000;

/** The first runs warm up the cache and are not counted. The median of the others is reported. */
const WARM = 2;
const RUNS = 7;

/** If a query takes longer, its plan is printed. */
const AIM_MS = 100;

/** The time for which keys are remembered (DEDUPE_DAYS). */
const DAYS = 30;

/** The part of the page that this command writes. */
const SECTION = { page: 'engine/bench/scale.md', name: 'console', command: 'npm run -w engine scale' };

/** Measures the console's queries on a table of a million events, and writes the figures into engine/bench/scale.md. */
export default async function main(): Promise<void> {
  const stack = await startStack();
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  await client.connect();
  try {
    const now = new Date();
    await fill(client, now);
    const requests: NeonRequest[] = [];
    stack.neon.fault = (request) => {
      requests.push(request);
      return undefined;
    };
    const rows: string[] = [];
    for (const [name, load] of Object.entries(pages(stack.workerUrls.ops, now))) {
      await load();
      const measured: Measured[] = [];
      for (const request of requests.splice(0)) measured.push(await measure(client, request));
      // The overview's queries run concurrently. A list that is not full queries twice.
      const times = measured.map((one) => one.ms);
      const ms = name.startsWith('overview') ? Math.max(...times) : times.reduce((sum, time) => sum + time, 0);
      console.log(`${ms.toFixed(1).padStart(7)} ms  ${name}`);
      if (ms > AIM_MS) for (const { plan } of measured) console.log(plan);
      rows.push(`| ${name} | ${ms.toFixed(1)} |`);
    }
    writeSection(SECTION, [
      `The median of ${RUNS} runs of each query, on ${EVENTS.toLocaleString('en')} events of ${DAYS} days, with a warm cache, on a machine with`,
      'two cores. It is the time inside PostgreSQL (planning and execution): a Worker adds one round trip to it.',
      '',
      '| page or call | ms |',
      '| --- | --- |',
      ...rows,
    ]);
  } finally {
    await client.end();
    await stack.stop();
  }
}

function pages(databaseUrl: string, now: Date): Record<string, () => Promise<unknown>> {
  const db = openDatabase(databaseUrl);
  const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000);
  const list = (filter: EventFilter, after?: Cursor) => () => listEvents(db, filter, { after, limit: 50 });
  const middle = {
    receivedAt: `${ago(24 * 15)
      .toISOString()
      .replace('T', ' ')
      .replace('Z', '')}+00`,
    source: 's',
    eventId: '',
  };
  return {
    'overview and `GET /ops/api/status`': () => loadStatus(db, ['stripe', 'github', 'silent', 'unused'], now),
    'events, first page': list({}),
    'events, a page in the middle of the million': list({}, middle),
    'events of one source': list({ source: 'github' }),
    'events of a source that was silent for a week': list({ source: 'silent' }),
    'events of a type that there is three times in a million': list({ type: 'rare' }),
    'parked events': list({ status: 'parked' }),
    'parked events of today': list({ status: 'parked', since: ago(12) }),
    'parked events of an error': list({ status: 'parked', error: 'PermanentError: the account 4711 is unknown' }),
    'pending events': list({ status: 'pending' }),
    'ignored events': list({ status: 'ignored' }),
    'events of one day, two weeks ago': list({ since: ago(24 * 15), until: ago(24 * 14) }),
    'events with a parked effect': list({ effect_status: 'parked' }),
    'search by event id': list({ q: `evt_${EVENTS / 2}` }),
    'search by what all ids begin with': list({ q: 'evt_' }),
    'an event': () => loadDetails(db, { source: 'stripe', eventId: `evt_${EVENTS}` }),
    'before a retry of all that is parked': () => loadMatching(db, 'retry', {}),
    'before a rerun of a rare type': () => loadMatching(db, 'rerun', { type: 'rare' }),
    'before a rerun of a type': () => loadMatching(db, 'rerun', { type: 'type.3' }),
    'events of an action': list({ action_at: now }),
    '`GET /ops/metrics`': () => loadMetrics(db, now),
  };
}

/** A month of a busy system: most events are done, some are stuck, one source is silent, one type is rare. */
async function fill(client: pg.Client, now: Date): Promise<void> {
  console.log(`making ${EVENTS.toLocaleString('en')} events`);
  const insert = (text: string) => client.query(text, [now, EVENTS, DAYS]);
  await insert(`
    insert into webhooks.events (source, event_id, type, occurred_at, received_at, status, due_at, attempts, failure,
                                 last_error, summary, finished_at, completions, fingerprint)
    select case when n % 5 = 0 then 'github' when n % 1000 = 1 and age > interval '7 days' then 'silent' else 'stripe' end,
      'evt_' || n, case when n in (100, $2 / 2, $2 - 100) then 'rare' else 'type.' || n % 20 end,
      at, at, status, at + interval '10 minutes', 1,
      case when status = 'parked' then 'permanent' end,
      case when status = 'parked' then 'PermanentError: the account 4711 is unknown' end,
      case when status = 'done' then '1 change, receipt' end,
      case when status <> 'pending' then at + (n % 100) * interval '50 milliseconds' end,
      case when status in ('done', 'ignored') then 1 else 0 end,
      case when n % 5 = 0 then md5(n::text) || md5((-n)::text) end
    from generate_series(1, $2::int) n,
      lateral (select ($2 - n) * (interval '1 day' * $3::int / $2) as age) as aged,
      lateral (select $1::timestamptz - age as at) as received,
      lateral (select case when n % 400 = 7 then 'parked' when n > $2 - 500 and n % 2 = 0 then 'pending'
                           when n % 10 = 3 then 'ignored' else 'done' end as status) as worked`);
  await insert(`
    insert into webhooks.bodies (source, event_id, body, headers, received_at)
    select source, event_id, '{"data": "' || repeat(md5(event_id), 16) || '"}', '{"content-type": "application/json"}', received_at
    from webhooks.events where received_at > $1::timestamptz - interval '7 days' and $2::int + $3::int > 0 order by received_at`);
  await insert(`
    insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at, attempts, sent_at)
    select source, event_id, 'receipt', 'receipt', '{"to": "somebody"}',
      case n % 1000 when 1 then 'parked' when 2 then 'pending' else 'sent' end, finished_at, 1,
      case when n % 1000 > 2 then finished_at end
    from webhooks.events, lateral (select substr(event_id, 5)::int as n) as numbered
    where status = 'done' and n % 2 = 1 and received_at < $1::timestamptz and $2::int + $3::int > 0 order by received_at`);
  await client.query('vacuum (analyze) webhooks.events, webhooks.bodies, webhooks.effects');
}

interface Measured {
  readonly ms: number;
  readonly plan: string;
}

async function measure(client: pg.Client, { query, params = [] }: NeonRequest): Promise<Measured> {
  const runs: Measured[] = [];
  for (let run = 0; run < WARM + RUNS; run++) {
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(`explain (analyze, buffers) ${query}`, params);
    const lines = rows.map((row) => row['QUERY PLAN']);
    const times = lines.map((line) => Number(/^(?:Planning|Execution) Time: ([\d.]+) ms/.exec(line)?.[1] ?? 0));
    const ms = times.reduce((sum, time) => sum + time, 0);
    if (run >= WARM) runs.push({ ms, plan: lines.map((line) => line.trimEnd()).join('\n') });
  }
  return runs.sort((a, b) => a.ms - b.ms)[Math.floor(RUNS / 2)] ?? { ms: Number.NaN, plan: '' };
}
