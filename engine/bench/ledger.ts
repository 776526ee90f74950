import type { BenchDatabase } from './database.ts';

/** The rows of a deployment that has run for some time. */
export interface Ledger {
  /** Finished events of the last DEDUPE_DAYS days. Those of the last BODY_DAYS days have bodies. */
  readonly done: number;
  /** Pending events with overdue tickets, spread evenly among the others. */
  readonly overdue: number;
}

/** The settings of wrangler.consumer.toml. */
const DEDUPE_DAYS = 30;
const BODY_DAYS = 7;

/** About the size of a small Stripe event. */
const BODY_BYTES = 1000;

/**
 * Writes rows in the order of receipt, as claims do. Ids and replay keys are random, like GitHub's. This is the most
 * expensive case, because each goes to another page of its index.
 */
export async function fillLedger({ client }: BenchDatabase, { done, overdue }: Ledger): Promise<void> {
  await client.query('truncate webhooks.events cascade');
  await client.query(
    `insert into webhooks.events (source, event_id, type, received_at, status, due_at, attempts, summary, finished_at,
                                 completions, fingerprint)
     select 'bench', gen_random_uuid(), 'issues', at, case when pending then 'pending' else 'done' end,
       at + interval '10 minutes', case when pending then 0 else 1 end,
       case when not pending then '1 change' end, case when not pending then at end,
       case when pending then 0 else 1 end, encode(sha256(random()::text::bytea), 'hex')
     from generate_series(1, $1::int + $2::int) n,
       -- An hour ago at the latest: every pending event is overdue.
       lateral (select now() - interval '1 hour' - ($1 + $2 - n) * (make_interval(days => ${DEDUPE_DAYS - 1}) / ($1 + $2)) as at)
         as received,
       lateral (select n % (($1 + $2) / $2) = 0 as pending) as status`,
    [done, overdue],
  );
  await client.query(
    `insert into webhooks.bodies (source, event_id, body, headers, received_at)
     select source, event_id, json_build_object('data', repeat('x', ${BODY_BYTES})), '{"content-type": "application/json"}', received_at
     from webhooks.events
     where status = 'pending' or received_at > now() - make_interval(days => $1)
     order by received_at`,
    [BODY_DAYS],
  );
  // Runs vacuum now, because autovacuum could run during a measurement.
  await client.query('vacuum analyze webhooks.events, webhooks.bodies');
}
