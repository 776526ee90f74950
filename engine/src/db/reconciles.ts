// The state of each source that is reconciled, and the claim of missing events.
import { type SQL, sql } from 'drizzle-orm';
import { type ClaimRequest, claimStatement } from './claim.ts';
import { commit, type Database, run } from './client.ts';
import { bodies, events, reconciles } from './schema.ts';
import { at, columnNames, rowsOf } from './sql.ts';

const column = columnNames(reconciles);

/** The stored header that marks an event as claimed from the list of the provider's API. */
export const RECONCILED = 'claimcheck-reconciled';

export interface Reconcile {
  readonly since: Date;
  readonly askedAt: Date | null;
  readonly notBefore: Date | null;
  readonly confirmedKey: string | null;
  readonly accepted: boolean;
  readonly delivered: Readonly<Record<string, unknown>> | null;
}

/** Loads the row of a source, or inserts it. A new source begins now, because earlier events aren't wanted. */
export async function beginReconcile(db: Database, source: string, now: Date): Promise<Reconcile> {
  const [row] = await run<{
    [Key in keyof Reconcile]: Reconcile[Key] extends Date | null ? string | null : Reconcile[Key];
  }>(
    db,
    sql`
    with added as (
      insert into ${reconciles} (${column.source}, ${column.since}) values (${source}, ${at(now)}) on conflict do nothing
    )
    select ${reconciles.since} as since, ${reconciles.askedAt} as "askedAt", ${reconciles.notBefore} as "notBefore",
           ${reconciles.confirmedKey} as "confirmedKey", ${reconciles.accepted} as accepted, ${reconciles.delivered} as delivered
    from ${reconciles} where ${reconciles.source} = ${source}`,
  );
  if (row === undefined) {
    return { since: now, askedAt: null, notBefore: null, confirmedKey: null, accepted: false, delivered: null };
  }
  const dateOf = (time: string | null) => (time === null ? null : new Date(time));
  return { ...row, since: dateOf(row.since) ?? now, askedAt: dateOf(row.askedAt), notBefore: dateOf(row.notBefore) };
}

/** The ids that have an event here. */
export async function findKnown(db: Database, source: string, ids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await run<{ eventId: string }>(
    db,
    sql`
    select ${events.eventId} as "eventId" from ${events}
    where ${events.source} = ${source} and ${events.eventId} = any(${sql.param([...ids])}::text[])`,
  );
  return new Set(rows.map(({ eventId }) => eventId));
}

/** The body of the newest of these events that was delivered rather than listed by the API. */
export async function loadDelivered(db: Database, source: string, ids: readonly string[]): Promise<string | undefined> {
  const [row] = await run<{ body: string }>(
    db,
    sql`
    select ${bodies.body} as body from ${bodies}
    where ${bodies.source} = ${source} and ${bodies.eventId} = any(${sql.param([...ids])}::text[])
      and ${bodies.headers} ->> ${RECONCILED} is null
    order by ${bodies.receivedAt} desc limit 1`,
  );
  return row?.body;
}

/** A listed event that differs from the delivered ones. */
export interface Differing {
  readonly eventId: string;
  readonly error: string;
  readonly paths: readonly string[];
}

/**
 * Claims missing events, parks those that differ, and counts the claimed ones in one transaction, so that a killed run
 * leaves all or nothing. `stamp` identifies the run, so that each of two concurrent runs counts only its own claims.
 */
export async function claimMissing(
  db: Database,
  request: Omit<ClaimRequest, 'headers' | 'unsignedIds'>,
  differing: readonly Differing[],
  { stamp, holds }: { readonly stamp: string; readonly holds: boolean },
): Promise<void> {
  const { source, receivedAt } = request;
  const ids = sql`${sql.param(request.events.map(({ eventId }) => eventId))}::text[]`;
  const isMine = sql`${bodies.source} = ${source} and ${bodies.headers} ->> ${RECONCILED} = ${stamp}`;
  const counted = sql`
    select count(*)::int as number, min(${events.occurredAt}) as oldest
    from ${bodies} join ${events} on (${events.source}, ${events.eventId}) = (${bodies.source}, ${bodies.eventId})
    where ${isMine} and ${bodies.eventId} = any(${ids})`;
  await commit(db, [
    claimStatement({ ...request, headers: { [RECONCILED]: stamp }, unsignedIds: false }),
    ...(differing.length > 0 ? [parkDiffering(source, differing, isMine, holds, receivedAt)] : []),
    addFound(source, counted, receivedAt),
  ]);
}

function parkDiffering(source: string, differing: readonly Differing[], isMine: SQL, holds: boolean, now: Date): SQL {
  const event = columnNames(events);
  return sql`
    update ${events} set
      ${event.status} = 'parked', ${event.failure} = 'schema', ${event.lastError} = differing.error,
      ${event.failedPaths} = differing.paths, ${event.finishedAt} = ${at(now)},
      ${event.holds} = case when ${events.orderKey} is not null then ${holds}::boolean end
    from ${bodies}, ${rowsOf('differing', differing, {
      event_id: ['text', ({ eventId }) => eventId],
      error: ['text', ({ error }) => error],
      paths: ['jsonb', ({ paths }) => JSON.stringify(paths)],
    })}
    where (${events.source}, ${events.eventId}) = (${source}, differing.event_id)
      and ${bodies.eventId} = differing.event_id and ${isMine}`;
}

/** Adds to the count of missing events. Those found within a day are counted together, for one alert. */
function addFound(source: string, counted: SQL, now: Date): SQL {
  const isNews = sql`${reconciles.foundAt} > ${at(now)} - interval '1 day'`;
  return sql`
    update ${reconciles} set
      ${column.found} = counted.number + case when ${isNews} then ${reconciles.found} else 0 end,
      ${column.foundSince} = least(counted.oldest, case when ${isNews} then ${reconciles.foundSince} end),
      ${column.foundAt} = ${at(now)}
    from (${counted}) as counted
    where ${reconciles.source} = ${source} and counted.number > 0`;
}

/** Records how many events are missing before the provider is asked to send them again. */
export async function recordMissing(
  db: Database,
  source: string,
  number: number,
  oldest: Date,
  now: Date,
): Promise<void> {
  await run(db, addFound(source, sql`select ${number}::int as number, ${at(oldest)} as oldest`, now));
}

/** The result of a completed window. */
export interface WorkedWindow {
  /** The loaded value. If an operator or another run has changed it since, nothing is recorded. */
  readonly since: Date;
  readonly until: Date;
  /** Whether the window reached the present. */
  readonly isLast: boolean;
  readonly listed: number;
  readonly missing: number;
  /** Null: unchanged. */
  readonly confirmedKey: string | null;
  readonly delivered: Readonly<Record<string, unknown>> | null;
}

export async function recordWindow(db: Database, source: string, worked: WorkedWindow, now: Date): Promise<void> {
  const { since, until, isLast, listed, missing, confirmedKey, delivered } = worked;
  await run(
    db,
    sql`
    update ${reconciles} set
      ${column.since} = ${at(until)},
      ${column.askedAt} = case when ${isLast}::boolean then ${at(now)} else ${reconciles.askedAt} end,
      ${column.listed} = ${listed}, ${column.missing} = ${missing}, ${column.confirmedKey} = coalesce(${confirmedKey}, ${reconciles.confirmedKey}),
      ${column.accepted} = ${reconciles.accepted} and ${confirmedKey}::text is null,
      ${column.problem} = null, ${column.problemSince} = null, ${column.lastError} = null, ${column.notBefore} = null,
      ${column.delivered} = ${delivered === null ? null : JSON.stringify(delivered)}::jsonb
    where ${reconciles.source} = ${source} and ${reconciles.since} = ${at(since)}`,
  );
}

export async function confirmKey(db: Database, source: string, confirmedKey: string): Promise<void> {
  await run(
    db,
    sql`update ${reconciles} set ${column.confirmedKey} = ${confirmedKey} where ${reconciles.source} = ${source}`,
  );
}

/** Why the source could not be reconciled this time. */
export interface ReconcileProblem {
  readonly problem: 'failed' | 'unconfirmed';
  readonly error: string;
  readonly notBefore: Date | null;
}

export async function recordProblem(
  db: Database,
  source: string,
  { problem, error, notBefore }: ReconcileProblem,
  now: Date,
): Promise<void> {
  await run(
    db,
    sql`
    update ${reconciles} set
      ${column.problemSince} = case when ${reconciles.problem} = ${problem} then ${reconciles.problemSince} else ${at(now)} end,
      ${column.problem} = ${problem}, ${column.lastError} = ${error},
      ${column.notBefore} = ${notBefore?.toISOString() ?? null}::timestamptz
    where ${reconciles.source} = ${source}`,
  );
}

/**
 * Makes the next tick ask again, optionally from another time or with an unconfirmed key. Returns false if there is no
 * such row.
 */
export async function restartReconcile(
  db: Database,
  source: string,
  { since, accept }: { readonly since?: Date | undefined; readonly accept: boolean },
): Promise<boolean> {
  const rows = await run(
    db,
    sql`
    update ${reconciles} set
      ${column.since} = ${since === undefined ? reconciles.since : at(since)},
      ${column.accepted} = ${reconciles.accepted} or ${accept}::boolean,
      ${column.askedAt} = null, ${column.notBefore} = null
    where ${reconciles.source} = ${source} returning ${reconciles.source}`,
  );
  return rows.length > 0;
}
