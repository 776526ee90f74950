// The API sends a delivery again when it is asked to, so what is missing comes by the front door, signed.
import { findKnown, recordMissing, recordWindow } from '../db/reconciles.ts';
import { PermanentError } from '../kit/errors.ts';
import { eventIdFields } from '../shared/log.ts';
import { isStorableText } from '../shared/text.ts';
import { type ListedDeliveries, type ListedDelivery, ReconcileError } from './kinds.ts';
import { type Run, recordNothingListed, recordUnconfirmed, whatIsDue } from './run.ts';

/** 10,000 deliveries of GitHub's. A hook that sends more in an hour needs something better than a list. */
const MAX_PAGES = 100;

/** GitHub allows 180 such requests in a minute. The next tick goes on. */
const MAX_REDELIVERIES = 150;

const HOUR_MS = 3_600_000;

/** How long after the last try: what we refuse (with 413, say) must not be asked for at every tick. */
const WAITS_MS = [0, HOUR_MS, 4 * HOUR_MS];

/** An event of which no delivery has arrived. */
interface Missing {
  readonly eventId: string;
  readonly id: string;
  readonly first: Date;
  readonly last: Date;
  /** How often it was asked for. The provider's list says so, and we need not remember. */
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
  // Before it is asked for: a run that dies in between must not hide that something was missing.
  if (oldest) await recordMissing(db, name, 1 + others.length, oldest.first, now());
  for (const { id, eventId } of asked) {
    try {
      await ask((tools) => kind.redeliver(id, tools));
    } catch (error) {
      // This one can't be sent again. The others can.
      if (!(error instanceof PermanentError)) throw error;
      log({ step: 'reconcile', outcome: 'not_redelivered', source: name, event_id: eventId, reason: error.message });
    }
  }
  const ids = (those: readonly Missing[]) => eventIdFields(those.map(({ eventId }) => eventId));
  if (givenUp.length > 0) log({ step: 'reconcile', outcome: 'given_up', source: name, ...ids(givenUp) });
  const counts = { listed: sent.length, missing: missing.length };
  // The next run looks at those again that it still waits for.
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

/** The events that the provider has sent since then, the oldest first. Pages that move only show a delivery twice. */
async function listSince({ kind, ask }: Run<ListedDeliveries>, since: Date): Promise<Missing[]> {
  const events = new Map<string, Missing>();
  const seen = new Set<string>();
  let page: string | undefined;
  for (let pages = 0; ; pages++) {
    if (pages === MAX_PAGES) throw new ReconcileError(`the API lists more than ${MAX_PAGES} pages`);
    const { deliveries, next } = await ask((tools) => kind.deliveries({ ...tools, ...(page && { page }) }));
    if (!Array.isArray(deliveries) || !deliveries.every(isDelivery)) {
      throw new ReconcileError('deliveries returned something else than { deliveries, next }');
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
