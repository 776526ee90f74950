// The common part of both kinds: when a source is due, the limits of a run, and how a failure is recorded.
import { hideSecrets } from '../consumer/hide-secrets.ts';
import type { Reconcile } from '../consumer/portions.ts';
import { type Database, openDatabase } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import { beginReconcile, type Reconcile as Row, recordProblem, recordWindow } from '../db/reconciles.ts';
import { failureOf, RetryLater } from '../kit/errors.ts';
import type { ConsumerEnv, Source } from '../kit/index.ts';
import type { ReconcileMessage } from '../queue/tickets.ts';
import { sha256 } from '../shared/bytes.ts';
import { errorFields, type Log } from '../shared/log.ts';
import type { ConsumerBindings } from '../shared/runtime.ts';
import { MAX_DELAY_SECONDS } from '../shared/runtime.ts';
import { settingOf } from '../shared/settings.ts';
import { cleanText } from '../shared/text.ts';
import { withTimeLimit } from '../shared/time-limit.ts';
import { EVERY_MS, type ListedDeliveries, type ListedEvents, ReconcileError, type ReconcileTools } from './kinds.ts';

/** One run for one source. */
export interface Run<Kind = ListedEvents | ListedDeliveries> {
  readonly name: string;
  readonly source: Source;
  readonly kind: Kind;
  readonly message: ReconcileMessage;
  readonly env: ConsumerBindings;
  readonly db: Database;
  readonly now: () => Date;
  readonly log: Log;
  /** The SHA-256 of the key and of `about`. */
  readonly key: string;
  /** Calls the app's `list`, `deliveries` or `redeliver` with a time limit. */
  readonly ask: <Answer>(work: (tools: ReconcileTools) => Promise<Answer>) => Promise<Answer>;
}

/** The row of a source, and the window that is due. */
export interface Due {
  readonly row: Row;
  readonly since: Date;
  readonly until: Date;
  /** Whether the API has listed an event that is known here, or an operator has accepted the key. */
  readonly isConfirmed: boolean;
}

/** Enough for several pages of a slow API. */
const ASK_MS = 30_000;

/** A consumer is stopped after 15 minutes, and the same batch may contain other sources. */
const RUN_MS = 5 * 60_000;

/** An event that is in transit, or is being retried by its provider or by us, must not count as missing. */
const IN_FLIGHT_MS = 3_600_000;

const DAY_MS = 86_400_000;

/** Ticks are not exact, so one may come a little early. */
const EARLY_MS = 60_000;

/** About one screen of text. */
const MAX_ERROR_LENGTH = 1000;

/** Does the work of a run. An error is recorded in the source's row, and the next tick tries again. */
export async function runReconcile(
  given: Pick<Run, 'name' | 'source' | 'kind' | 'message' | 'env'>,
  { now, log }: Parameters<Reconcile['run']>[2],
  work: (run: Run) => Promise<ReconcileMessage | undefined>,
): Promise<ReconcileMessage | undefined> {
  const { name, kind, env } = given;
  try {
    const db = openDatabase(env.DATABASE_URL);
    try {
      return await work({ ...given, db, now, log, key: await hashOfKey(kind, env), ask: asker(env, now) });
    } catch (error) {
      if (DatabaseError.isFromDatabase(error)) throw error;
      const { line, text, seconds } = describe(error, env);
      log({ step: 'reconcile', outcome: 'failed', source: name, ...line });
      const notBefore = seconds > 0 ? new Date(now().getTime() + seconds * 1000) : null;
      // The row may not exist yet, for example if the secret is missing.
      await beginReconcile(db, name, now());
      await recordProblem(db, name, { problem: 'failed', error: text, notBefore }, now());
    }
  } catch (error) {
    log({ step: 'reconcile', outcome: 'failed', source: name, reason: DatabaseError.fromThrown(error).message });
  }
  return undefined;
}

/** `undefined` if nothing is due. `ahead` is where a run continues to look for an event that is known here. */
export async function whatIsDue(run: Run, isContinued: boolean, ahead?: Date): Promise<Due | undefined> {
  const { db, name, kind, env, key } = run;
  const now = run.now();
  const row = await beginReconcile(db, name, now);
  if (row.notBefore !== null && row.notBefore > now) return undefined;
  const nextAt = (row.askedAt?.getTime() ?? 0) + EVERY_MS[kind.every ?? '15 minutes'] - EARLY_MS;
  if (!isContinued && row.askedAt !== null && nextAt > now.getTime()) return undefined;
  // Older events may have been pruned. They would look as if they had never arrived, and would run again.
  const days = Number(env.DEDUPE_DAYS) - 1;
  const until = new Date(now.getTime() - IN_FLIGHT_MS);
  const oldest = new Date(now.getTime() - days * DAY_MS);
  if (!(oldest < until)) throw new ReconcileError('DEDUPE_DAYS must be at least 2 to reconcile');
  const since = [row.since, oldest, ahead ?? oldest].reduce((a, b) => (a > b ? a : b));
  return since < until ? { row, since, until, isConfirmed: row.accepted || row.confirmedKey === key } : undefined;
}

/** The window stays where it is until the API lists an event that is known here, so nothing is skipped. */
export async function recordUnconfirmed({ name, db, now, log }: Run): Promise<undefined> {
  log({ step: 'reconcile', outcome: 'unconfirmed', source: name });
  const error = 'the API lists no event that is known here. Does the key or the hook belong to another account?';
  await recordProblem(db, name, { problem: 'unconfirmed', error, notBefore: null }, now());
  return undefined;
}

/** The key of another account may also list nothing. So the window stays where it is until the key is confirmed. */
export async function recordNothingListed({ name, db, now }: Run, { row }: Due): Promise<undefined> {
  const { since, delivered } = row;
  const nothing = { since, until: since, isLast: true, listed: 0, missing: 0, confirmedKey: null, delivered };
  await recordWindow(db, name, nothing, now());
  return undefined;
}

async function hashOfKey({ key, about }: Run['kind'], env: ConsumerBindings): Promise<string> {
  const value = key === undefined ? undefined : settingOf(env, key);
  if (key !== undefined && value === undefined) throw new ReconcileError(`the secret ${key} is not set`);
  return sha256(new TextEncoder().encode(JSON.stringify([value, about])));
}

function asker(env: ConsumerBindings, now: () => Date): Run['ask'] {
  const started = now().getTime();
  return (work) => {
    if (now().getTime() - started > RUN_MS) throw new ReconcileError('the API answers too slowly for one run');
    const tools = { fetch: (...call: Parameters<typeof fetch>) => fetch(...call), env: env as ConsumerEnv, now: now() };
    return withTimeLimit(ASK_MS, work({ ...tools, signal: AbortSignal.timeout(ASK_MS) }), () => {
      throw new ReconcileError(`the provider's API took longer than ${ASK_MS / 1000} s`);
    });
  };
}

/**
 * Describes an error for the log, which must not contain foreign error messages, and for the row. Never throws,
 * whatever was thrown.
 */
function describe(error: unknown, env: object) {
  try {
    if (!(error instanceof Error))
      return { line: errorFields(error), text: 'the thrown value is not an Error', seconds: 0 };
    const { name, message } = error;
    const isOurs = error instanceof ReconcileError || failureOf(error).failure === 'response';
    const text = cleanText(hideSecrets(isOurs ? message : `${name}: ${message}`, env), MAX_ERROR_LENGTH);
    const seconds = error instanceof RetryLater && error.seconds > 0 ? Math.min(error.seconds, MAX_DELAY_SECONDS) : 0;
    return { line: isOurs ? { reason: message } : errorFields(error), text, seconds };
  } catch {
    return { line: {}, text: 'the thrown value cannot be read', seconds: 0 };
  }
}
