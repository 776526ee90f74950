import pg from 'pg';
import { sources } from '../src/app/sources.ts';
import type { Source } from '../src/kit/index.ts';
import { secretName } from '../src/receiver/secrets.ts';
import { CONSUMER_CONFIG, RECEIVER_CONFIG } from './local/config.ts';
import { sampleOf, sign } from './local/sign.ts';
import { type Stack, startStack } from './local/stack.ts';
import { startWorkers, type Workers } from './local/workers.ts';

/** Enough to overlap, few enough to be over in seconds. */
const EVENTS_PER_SOURCE = 25;
const BAD_PER_SOURCE = 5;
/** Every event comes once, and up to this many times more. */
const MAX_REPEATS = 4;
/** Deliveries on their way at the same moment. */
const CONCURRENCY = 25;
/** Nothing takes this long unless it is stuck. */
const QUIET_WITHIN_MS = 60_000;

type Kind = 'good' | 'tampered' | 'stale' | 'malformed';

interface Delivery {
  readonly kind: Kind;
  readonly source: string;
  readonly id: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** The whole path on throw-away data: a storm of deliveries goes in, and what came out is asked of Postgres itself. */
export default async function main(): Promise<void> {
  console.log('starting PostgreSQL, the Neon endpoint and both Workers …');
  const stack = await startStack();
  try {
    const workers = await startWorkers(stack, { sources, receiver: RECEIVER_CONFIG, consumer: CONSUMER_CONFIG });
    try {
      const deliveries = shuffled(makeUp(workers));
      console.log(`sending ${deliveries.length} deliveries, ${CONCURRENCY} at a time …\n`);
      const answers = await deliverAll(deliveries, workers.url);
      const sound = report(deliveries, answers, await whatCameOut(stack));
      if (!sound) process.exitCode = 1;
    } finally {
      await workers.harness.close();
    }
  } finally {
    await stack.stop();
  }
}

function makeUp({ secrets }: Workers): Delivery[] {
  const now = new Date();
  const hourAgo = new Date(now.getTime() - 3_600_000);
  return Object.entries<Source>(sources).flatMap(([source, { provider }]) => {
    const sample = sampleOf(provider);
    const make = (kind: Kind, at: Date, body?: string): Delivery => {
      const id = sample.id();
      const type = sample.types[Math.floor(Math.random() * sample.types.length)] ?? '';
      return { kind, source, id, ...sign(provider, secrets[secretName(source)] ?? '', { id, type, now: at, body }) };
    };
    const many = <Value>(count: number, value: () => Value) => Array.from({ length: count }, value);
    return [
      ...many(EVENTS_PER_SOURCE, () => make('good', now)).flatMap((delivery) =>
        many(1 + Math.floor(Math.random() * (MAX_REPEATS + 1)), () => delivery),
      ),
      ...many(BAD_PER_SOURCE, () => {
        const signed = make('tampered', now);
        return { ...signed, body: `${signed.body} ` };
      }),
      ...('timestamp' in provider.scheme ? many(BAD_PER_SOURCE, () => make('stale', hourAgo)) : []),
      ...many(BAD_PER_SOURCE, () => make('malformed', now, '{"id":')),
    ];
  });
}

async function deliverAll(deliveries: readonly Delivery[], url: string): Promise<string[]> {
  const answers: string[] = [];
  let next = 0;
  const sender = async () => {
    for (let at = next++; at < deliveries.length; at = next++) {
      const { source, headers, body } = deliveries[at] as Delivery;
      const response = await fetch(`${url}webhooks/${source}`, { method: 'POST', headers, body });
      const { status } = (await response.json()) as { status: string | number };
      answers[at] = String(status);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, sender));
  return answers;
}

interface CameOut {
  readonly finished: Set<string>;
  readonly unfinished: number;
  readonly sent: number;
  /** Receipts that the outside was asked for, told apart by idempotency key. */
  readonly seenOutside: number;
}

/** Waits until nothing is pending, and asks Postgres and the outside what has happened. */
async function whatCameOut({ databaseUrl, outside }: Stack): Promise<CameOut> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const pending = `
      select (select count(*) from webhook_events where status = 'pending')
           + (select count(*) from webhook_effects where status = 'pending') as count`;
    const deadline = Date.now() + QUIET_WITHIN_MS;
    while ((await client.query(pending)).rows[0].count !== '0' && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const events = (await client.query('select source, event_id, status from webhook_events')).rows;
    const done = events.filter(({ status }) => status === 'done' || status === 'ignored');
    const sent = (await client.query(`select count(*)::int as count from webhook_effects where status = 'sent'`))
      .rows[0].count;
    return {
      finished: new Set(done.map(({ source, event_id }) => `${source} ${event_id}`)),
      unfinished: events.length - done.length,
      sent,
      seenOutside: new Set(outside.requests.map(({ idempotencyKey }) => idempotencyKey)).size,
    };
  } finally {
    await client.end();
  }
}

/** Prints what went in and what came out, each with what it should be. True where all of it fits. */
function report(deliveries: readonly Delivery[], answers: readonly string[], out: CameOut): boolean {
  const sent = (kind: Kind) => deliveries.filter((delivery) => delivery.kind === kind).length;
  const answered = (status: string, kind?: Kind) =>
    deliveries.filter((delivery, at) => answers[at] === status && (kind === undefined || delivery.kind === kind))
      .length;
  const ids = new Set(deliveries.filter(({ kind }) => kind === 'good').map(({ source, id }) => `${source} ${id}`));
  const lost = [...ids].filter((id) => !out.finished.has(id)).length;

  const lines: [string, number, number][] = [
    ['deliveries sent', deliveries.length, deliveries.length],
    ['  accepted', answered('accepted'), ids.size],
    ['  duplicates', answered('duplicate'), sent('good') - ids.size],
    ['  refused: tampered (401)', answered('401', 'tampered'), sent('tampered')],
    ['  refused: stale (401)', answered('401', 'stale'), sent('stale')],
    ['  refused: malformed (400)', answered('400', 'malformed'), sent('malformed')],
    ['events worked', out.finished.size, ids.size],
    ['  still unfinished', out.unfinished, 0],
    ['events lost', lost, 0],
  ];
  for (const [what, count, expected] of lines) {
    const verdict = count === expected ? 'ok' : `should be ${expected}`;
    console.log(`${what.padEnd(36)}${String(count).padStart(6)}   ${verdict}`);
  }
  const sound = lines.every(([, count, expected]) => count === expected);
  console.log(sound ? '\nEvery event once, nothing lost.' : '\nSomething does not add up.');
  return sound;
}

function shuffled<Value>(values: readonly Value[]): Value[] {
  return values
    .map((value) => ({ value, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ value }) => value);
}
