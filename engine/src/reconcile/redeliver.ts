// Reconciles with an API that can send a delivery again. Missing events arrive as normal, signed deliveries.
import { findKnown, recordMissing, recordWindow } from '../db/reconciles.ts';
import { PermanentError } from '../kit/errors.ts';
import { eventIdFields } from '../shared/log.ts';
import { isStorableText } from '../shared/text.ts';
import { type ListedDeliveries, type ListedDelivery, ReconcileError } from './kinds.ts';
import { type Run, recordNothingListed, recordUnconfirmed, whatIsDue } from './run.ts';

/** 10,000 of GitHub's deliveries. For a hook that sends more in an hour, listing is the wrong method. */
const MAX_PAGES = 100;

/** GitHub allows 180 such requests in a minute. The next tick continues. */
const MAX_REDELIVERIES = 150;

const HOUR_MS = 3_600_000;

/**
 * How long to wait after the last try, so that a delivery that we always refuse (for example with 413) is not requested
 * at every tick.
 */
const WAITS_MS = [0, HOUR_MS, 4 * HOUR_MS];

/** An event that has not arrived. */
interface Missing {
  readonly eventId: string;
  readonly id: string;
  readonly first: Date;
  readonly last: Date;
  /** How often it was requested. This is counted in the provider's list, so we don't store it. */
  readonly tries: number;
}

export async function runRedeliver(run: Run<ListedDeliveries>): Promise<undefined> {
  const { name, kind, db, ask, now, log, key } = run;
  const due = await whatIsDue(run, false);
  if (due === undefined) return;
  const { row, since, until } = due;
  const sent = (await listSince(run, since)).filter(({ first }) => first >= since && first < until);
  const sentIds = sent.map(({ eventId }) => eventId);
  const known = sentIds.length > 0 ? await findKnown(db, name, sentIds) : new Set<string>();
  if (!due.isConfirmed && known.size === 0) {
    return sent.length > 0 ? recordUnconfirmed(run) : recordNothingListed(run, due);
  }
  const missing = sent.filter(({ eventId }) => !known.has(eventId));
  const isOver = ({ tries, last }: Missing) => tries >= WAITS_MS.length && now().getTime() - last.getTime() >= HOUR_MS;
  const isDue = ({ tries, last }: Missing) =>
    now().getTime() - last.getTime() >= (WAITS_MS[tries] ?? Number.POSITIVE_INFINITY);
  const givenUp = missing.filter(isOver);
  const waiting = missing.filter((one) => !isOver(one));
  const asked = waiting.filter(isDue).slice(0, MAX_REDELIVERIES);
  const [oldest, ...others] = asked.filter(({ tries }) => tries === 0);
  // Record before requesting, so that a run that dies in between doesn't hide that something was missing.
  if (oldest) await recordMissing(db, name, 1 + others.length, oldest.first, now());
  for (const { id, eventId } of asked) {
    try {
      await ask((tools) => kind.redeliver(id, tools));
    } catch (error) {
      // This delivery can't be sent again, but others may.
      if (!(error instanceof PermanentError)) throw error;
      log({ step: 'reconcile', outcome: 'not_redelivered', source: name, event_id: eventId, reason: error.message });
    }
  }
  const ids = (those: readonly Missing[]) => eventIdFields(those.map(({ eventId }) => eventId));
  if (givenUp.length > 0) log({ step: 'reconcile', outcome: 'given_up', source: name, ...ids(givenUp) });
  const counts = { listed: sent.length, missing: missing.length };
  // The next run starts at the oldest event that is still awaited.
  const next = waiting[0]?.first ?? until;
  await recordWindow(
    db,
    name,
    { since: row.since, until: next, isLast: true, ...counts, confirmedKey: key, delivered: null },
    now(),
  );
  const times = { since: since.toISOString(), until: until.toISOString() };
  const about = asked.length > 0 && { asked: asked.length, ...ids(asked) };
  log({
    step: 'reconcile',
    outcome: asked.length > 0 ? 'redelivering' : 'complete',
    source: name,
    ...times,
    ...counts,
    ...about,
  });
}

/**
 * The events that the provider has sent since then, oldest first. If the pages shift between two calls, a delivery is
 * at most listed twice.
 */
async function listSince({ kind, ask }: Run<ListedDeliveries>, since: Date): Promise<Missing[]> {
  const events = new Map<string, Missing>();
  const seen = new Set<string>();
  let page: string | undefined;
  for (let pages = 0; ; pages++) {
    if (pages === MAX_PAGES) throw new ReconcileError(`the API lists more than ${MAX_PAGES} pages`);
    const { deliveries, next } = await ask((tools) => kind.deliveries({ ...tools, ...(page && { page }) }));
    if (!Array.isArray(deliveries) || !deliveries.every(isDelivery)) {
      throw new ReconcileError('deliveries did not return { deliveries, next }');
    }
    for (const delivery of deliveries.filter(({ id }) => !seen.has(id))) {
      seen.add(delivery.id);
      const one = events.get(delivery.eventId);
      const { id, eventId, at, isAgain } = delivery;
      events.set(eventId, {
        eventId,
        id,
        first: one && one.first < at ? one.first : at,
        last: one && one.last > at ? one.last : at,
        tries: (one?.tries ?? 0) + (isAgain ? 1 : 0),
      });
    }
    const oldest = deliveries.at(-1);
    if (next === undefined || oldest === undefined || oldest.at < since) break;
    page = next;
  }
  return [...events.values()].sort((a, b) => a.first.getTime() - b.first.getTime());
}

function isDelivery(value: unknown): value is ListedDelivery {
  const { id, eventId, at } = (value ?? {}) as Partial<ListedDelivery>;
  return typeof id === 'string' && isStorableText(eventId) && at instanceof Date && !Number.isNaN(at.getTime());
}
