import { existsSync } from 'node:fs';
import pg from 'pg';
import { handlerOf } from '../src/consumer/find-handler.ts';
import type { Handlers } from '../src/kit/index.ts';
import { CONFIGS } from './config/worker-config.ts';
import { type AppSamples, loadHandlers, loadSamples, loadSources, type Sources } from './lib/app.ts';
import { readArguments } from './lib/arguments.ts';
import { type Stack, seedTables, startStack } from './local/stack.ts';
import { startWorkers, type Workers } from './local/workers.ts';
import { KINDS, makeStorm, type Storm, type StormDelivery } from './samples/storm.ts';

/** The number of concurrent deliveries. */
const CONCURRENCY = 25;
/** If the work takes longer than this, it is stuck. */
const QUIET_WITHIN_MS = 60_000;
/** How long to wait for events whose handler has failed and that wait for their next attempt. */
const FAILING_WITHIN_MS = 10_000;

const USAGE = `npm run demo

Runs your app on throw-away data and free ports, sends it a storm of deliveries (good, repeated, forged, stale), and counts
what comes out. The exit code is 0 if all counts are right, each event reached the handler of its type, and no handler or
effect failed. Otherwise it is 1.`;

/** Runs your app on throw-away data, sends it a storm of deliveries, and reads the result from Postgres. */
export default async function main(): Promise<void> {
  readArguments({ usage: USAGE });
  console.log('starting PostgreSQL, the Neon endpoint and the Workers …');
  // `process.exit` ends Postgres and the Workers and removes the data. Without it, a signal would leave them behind.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130));
  const app = await startApp();
  try {
    const storm = await makeStorm(app);
    console.log(`sending ${storm.deliveries.length} deliveries, ${CONCURRENCY} at a time …\n`);
    const answers = await deliverAll(storm.deliveries);
    const result = await resultOf(app, storm);
    const isRight = report(storm, answers, outcomesLogged(app), result);
    const unhandled = unhandledOf(storm, result, await loadHandlers());
    explain(storm, result, unhandled, isRight);
    if (!isRight || unhandled.size > 0 || result.failures.length > 0) process.exitCode = 1;
  } finally {
    await app.stop();
  }
}

interface RunningApp {
  readonly sources: Sources;
  readonly samples: AppSamples;
  readonly stack: Stack;
  readonly workers: Workers;
  stop(): Promise<void>;
}

async function startApp(): Promise<RunningApp> {
  const stack = await startStack();
  try {
    const [sources, samples] = [await loadSources(), await loadSamples()];
    stack.outside.answer = samples.answers;
    await seedTables(stack.databaseUrl, samples.seed);
    const { ops, ...configs } = CONFIGS;
    const workers = await startWorkers(stack, { sources, ...configs, ops: existsSync(ops) ? ops : undefined });
    const stop = async () => {
      await workers.harness.close();
      await stack.stop();
    };
    return { sources, samples, stack, workers, stop };
  } catch (error) {
    await stack.stop();
    throw error;
  }
}

/** Sends all deliveries and returns the status of each answer. */
async function deliverAll(deliveries: readonly StormDelivery[]): Promise<number[]> {
  const answers: number[] = [];
  const rest = deliveries.entries();
  const sender = async () => {
    for (const [index, { url, headers, body }] of rest) {
      const response = await fetch(url, { method: 'POST', headers, body });
      await response.arrayBuffer();
      answers[index] = response.status;
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, sender));
  return answers;
}

/** Counts outcomes in the receiver's log, because some providers require a special answer. */
function outcomesLogged({ workers }: RunningApp): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { message } of workers.harness.getLogs()) {
    const logged = /"step":"delivery".*"outcome":"(\w+)"/.exec(message)?.[1];
    if (!logged) continue;
    const outcome = message.includes('"forwarded":true') ? 'forwarded' : logged;
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  }
  return counts;
}

interface Result {
  readonly events: readonly { readonly source: string; readonly event_id: string; readonly status: string }[];
  readonly failures: readonly { readonly what: string; readonly error: string; readonly count: number }[];
  readonly effects: number;
  readonly effectsSent: number;
  readonly keysSeenOutside: number;
}

/** Waits until all work is done, and then asks Postgres and the stand-in for the outside for the result. */
async function resultOf({ stack }: RunningApp, { events }: Storm): Promise<Result> {
  const client = new pg.Client({ connectionString: stack.databaseUrl });
  await client.connect();
  const rows = async <Row>(query: string): Promise<Row[]> => (await client.query(query)).rows;
  try {
    const pending = `
      select (select count(*)::int from webhooks.events) as claimed,
        count(*)::int as pending, count(*) filter (where attempts = 0)::int as untried from (
        select attempts from webhooks.events where status = 'pending'
        union all select attempts from webhooks.effects where status = 'pending' and coalesce(send_at <= now(), true)) as work`;
    const started = Date.now();
    for (;;) {
      const [left] = await rows<{ claimed: number; pending: number; untried: number }>(pending);
      const waited = Date.now() - started;
      if (!left || waited > QUIET_WITHIN_MS) break;
      // Forwarded deliveries are claimed later by the consumer.
      const isClaimed = left.claimed >= total(events);
      if (isClaimed && left.pending === 0) break;
      if (isClaimed && left.untried === 0 && waited > FAILING_WITHIN_MS) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const effects = await rows<{ status: string }>('select status from webhooks.effects');
    return {
      events: await rows('select source, event_id, status from webhooks.events'),
      failures: await rows(`
        select source || coalesce(' ' || type, '') as what, status || ': ' || last_error as error, count(*)::int as count
        from webhooks.events where last_error is not null and status <> 'done' group by 1, 2
        union all
        select 'effect ' || name, status || ': ' || last_error, count(*)::int
        from webhooks.effects where last_error is not null and status <> 'sent' group by 1, 2`),
      effects: effects.length,
      effectsSent: effects.filter(({ status }) => status === 'sent').length,
      keysSeenOutside: new Set(stack.outside.requests.flatMap(({ idempotencyKey }) => idempotencyKey ?? [])).size,
    };
  } finally {
    await client.end();
  }
}

type Line = [title: string, count: number, expected?: number];

const total = (counts: ReadonlyMap<string, number>): number =>
  [...counts.values()].reduce((sum, count) => sum + count, 0);

/** Prints what was sent and what came out. Returns true if the result is right. */
function report(
  { deliveries, distinct, events, ids }: Storm,
  answers: readonly number[],
  outcomes: ReadonlyMap<string, number>,
  result: Result,
): boolean {
  const sent = (kind: StormDelivery['kind']) => deliveries.filter((delivery) => delivery.kind === kind).length;
  const refused = (kind: StormDelivery['kind']) =>
    deliveries.filter((delivery, index) => delivery.kind === kind && answers[index] === KINDS[kind]).length;
  const accepted = outcomes.get('accepted') ?? 0;
  const forwarded = outcomes.get('forwarded') ?? 0;
  // If a claim takes too long, its delivery is forwarded even if it is a duplicate.
  const expectedAccepted = forwarded === 0 ? distinct : Math.min(accepted, distinct);
  const known = new Set(result.events.map(({ source, event_id }) => `${source} ${event_id}`));
  const withStatus = (...statuses: string[]) => result.events.filter(({ status }) => statuses.includes(status)).length;

  const lines: Line[] = [
    ['deliveries sent', deliveries.length],
    ['  accepted', accepted, expectedAccepted],
    ...(forwarded === 0 ? [] : [['  forwarded, not claimed by Postgres', forwarded] satisfies Line]),
    ['  duplicates', outcomes.get('duplicate') ?? 0, sent('good') - expectedAccepted - forwarded],
    ['  refused, forged (401)', refused('forged'), sent('forged')],
    ['  refused, tampered (401)', refused('tampered'), sent('tampered')],
    ['  refused, stale (401)', refused('stale'), sent('stale')],
    ['  refused, malformed (400)', refused('malformed'), sent('malformed')],
    ['events in the ledger', result.events.length, total(events)],
    ['  done, or ignored without a handler', withStatus('done', 'ignored')],
    ['  parked or waiting for a retry', withStatus('parked', 'pending')],
    ['effects asked for', result.effects],
    ['  sent', result.effectsSent],
    ['  different keys seen outside', result.keysSeenOutside],
    ['events lost', [...ids].filter((id) => !known.has(id)).length, 0],
  ];
  for (const [title, count, expected = count] of lines) {
    const verdict = count === expected ? 'ok' : `should be ${expected}`;
    console.log(`${title.padEnd(38)}${String(count).padStart(6)}   ${verdict}`);
  }
  return lines.every(([, count, expected = count]) => count === expected);
}

/**
 * By source and type: how many deliveries reached no handler although the requested type has one. One handled event of
 * a batch is enough, because a sample may also contain events of other types.
 */
function unhandledOf({ asked }: Storm, { events }: Result, handlers: Handlers): Map<string, number> {
  const ignored = new Set(
    events.flatMap((event) => (event.status === 'ignored' ? `${event.source} ${event.event_id}` : [])),
  );
  const counts = new Map<string, number>();
  for (const { source, type, ids } of asked) {
    if (!handlerOf({ source, type }, handlers) || !ids.every((id) => ignored.has(id))) continue;
    const what = `${source} ${type}`;
    counts.set(what, (counts.get(what) ?? 0) + 1);
  }
  return counts;
}

/** Explains what the table can't show: handlers that failed or were not called, and sources that sent nothing. */
function explain(
  { silent }: Storm,
  { failures }: Result,
  unhandled: ReadonlyMap<string, number>,
  isRight: boolean,
): void {
  for (const source of silent) console.log(`\n${source}: its sample contains no event, so nothing was sent.`);
  for (const { what, error, count } of failures) console.log(`\n${what}, ${count} times ${error}`);
  for (const [what, count] of unhandled)
    console.log(
      `\n${what}, ${count} times ignored: its handler was not called, because the sample produces another type. Write a sample in src/samples.ts.`,
    );
  if (failures.length > 0) {
    console.log(
      '\nThese events are kept. If a sample is not what your handler expects, write your own in src/samples.ts, and add the rows that it needs with `seed`.',
    );
  }
  console.log(`\n${isRight ? conclusion(failures, total(unhandled)) : 'Something is wrong: see "should be" above.'}`);
}

function conclusion(failures: Result['failures'], unhandled: number): string {
  const failed = failures.reduce((sum, { count }) => sum + count, 0);
  if (failed > 0) return `Nothing is lost, but ${failed} handlers or effects FAILED: see above.`;
  if (unhandled > 0) return `Nothing is lost, but ${unhandled} deliveries REACHED NO HANDLER: see above.`;
  return 'Every event was worked once, and nothing was lost.';
}
