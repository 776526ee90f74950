// Reconciles with an API that lists the events themselves: missing events are claimed.

import { holdsWhenParked } from '../consumer/group.ts';
import type { NewEvent } from '../db/claim.ts';
import { claimMissing, confirmKey, type Differing, findKnown, loadDelivered, recordWindow } from '../db/reconciles.ts';
import type { Source } from '../kit/index.ts';
import { type ReconcileMessage, sendTickets } from '../queue/tickets.ts';
import { identify } from '../receiver/identify.ts';
import { sha256 } from '../shared/bytes.ts';
import { covers, type ExpectedTypes, namedTypes } from '../shared/event-types.ts';
import { parseJson } from '../shared/json.ts';
import { eventIdFields } from '../shared/log.ts';
import { cleanText } from '../shared/text.ts';
import { DeliveryValues } from '../verify/delivery.ts';
import { jsonAt } from '../verify/places.ts';
import { type ListedEvents, ReconcileError } from './kinds.ts';
import { type Due, type Run, recordNothingListed, recordUnconfirmed, whatIsDue } from './run.ts';

/**
 * How many windows a run asks for. The Free plan allows 50 requests in a run, and a window takes at most three pages
 * and four queries. The next run continues.
 */
const MAX_ASKS = 6;

/** The shortest window, because many providers write times in seconds. */
const SHORTEST_MS = 1000;

type ListRun = Run<ListedEvents>;

export async function runList(run: ListRun): Promise<ReconcileMessage | undefined> {
  const { name, message } = run;
  let windowMs = Number(message.windowMs) || Number.POSITIVE_INFINITY;
  let lookedUntil = dateIn(message.lookedUntil);
  let hasListed = message.hasListed === true;
  let isContinued = message.windowMs !== undefined;
  for (let asks = 0; asks < MAX_ASKS; asks++) {
    const due = await whatIsDue(run, isContinued, lookedUntil);
    if (due === undefined) return undefined;
    isContinued = true;
    const { since } = due;
    const until = new Date(Math.min(due.until.getTime(), since.getTime() + windowMs));
    const isLast = until.getTime() === due.until.getTime();
    const events = await listWindow(run, since, until);
    if (events === 'too many') {
      const length = until.getTime() - since.getTime();
      if (length <= SHORTEST_MS) throw new ReconcileError('list returned "too many" for one second');
      windowMs = Math.max(SHORTEST_MS, Math.floor(length / 2));
      continue;
    }
    const ids = events.map(({ eventId }) => eventId);
    const known = ids.length > 0 ? await findKnown(run.db, name, ids) : new Set<string>();
    if (!due.isConfirmed && known.size === 0) {
      hasListed ||= events.length > 0;
      if (isLast) return hasListed ? recordUnconfirmed(run) : recordNothingListed(run, due);
      lookedUntil = until;
      continue;
    }
    if (!due.isConfirmed) await confirmKey(run.db, name, run.key);
    if (lookedUntil !== undefined) {
      // The key is confirmed now, so go back and claim the windows before this one.
      lookedUntil = undefined;
      continue;
    }
    await claimWindow(run, due, { until, isLast, events, known });
    if (isLast) return undefined;
    windowMs = 2 * (until.getTime() - since.getTime());
  }
  const looked = lookedUntil && { lookedUntil: lookedUntil.toISOString(), hasListed };
  return { reconcile: name, windowMs: Math.min(windowMs, Number.MAX_SAFE_INTEGER), ...looked };
}

interface ListedWindow {
  readonly until: Date;
  readonly isLast: boolean;
  readonly events: readonly NewEvent[];
  readonly known: ReadonlySet<string>;
}

/** Claims missing events before it moves the window on, so that a run that dies in between loses nothing. */
async function claimWindow(run: ListRun, { row, since }: Due, window: ListedWindow): Promise<void> {
  const { name, source, kind, env, db, now, log, key } = run;
  const { until, isLast, events, known } = window;
  const delivered = (known.size > 0 && (await valuesDelivered(run, [...known]))) || row.delivered;
  const missing = events
    .filter(({ eventId }) => !known.has(eventId))
    .map((event, place) => (event.orderKey === undefined ? event : { ...event, orderPlace: place }));
  const stamp = `${now().toISOString()} ${crypto.randomUUID()}`;
  const holds = holdsWhenParked(name, { sources: { [name]: source } });
  for (const chunk of chunksOf(missing)) {
    const differing = chunk.flatMap((event) => differenceOf(event, kind.same ?? [], delivered) ?? []);
    await claimMissing(db, { source: name, events: chunk, receivedAt: now() }, differing, { stamp, holds });
    const parked = new Set(differing.map(({ eventId }) => eventId));
    const tickets = chunk
      .filter(({ eventId }) => !parked.has(eventId))
      .map(({ eventId }) => ({ source: name, eventId }));
    // The sweep sends the tickets that the queue doesn't accept.
    await sendTickets(env.EVENTS, tickets);
  }
  const counts = { listed: events.length, missing: missing.length };
  await recordWindow(db, name, { since: row.since, until, isLast, ...counts, confirmedKey: key, delivered }, now());
  const times = { since: since.toISOString(), until: until.toISOString() };
  const ids = missing.length > 0 && eventIdFields(missing.map(({ eventId }) => eventId));
  log({
    step: 'reconcile',
    outcome: missing.length > 0 ? 'claimed' : 'complete',
    source: name,
    ...times,
    ...counts,
    ...ids,
  });
}

/**
 * The distinct events that the API lists in a window, oldest first. Events that can't be claimed are logged instead.
 */
async function listWindow({ name, source, kind, ask, log }: ListRun, since: Date, until: Date) {
  const named = namedTypes(source.types);
  // A pattern can't be sent to the API, so ask for all types.
  const types = named.length === source.types.length ? named : [];
  const answer: unknown = await ask((tools) => kind.list({ since, until, types, ...tools }));
  if (answer === 'too many') return answer;
  if (!Array.isArray(answer))
    throw new ReconcileError('list did not return an array: return the events, or "too many"');
  const events = new Map<string, NewEvent & { readonly occurredAt: Date }>();
  const unusable = new Map<string, number>();
  for (const item of answer) {
    const event = await readListed(source, item);
    if (typeof event === 'string') unusable.set(event, (unusable.get(event) ?? 0) + 1);
    else if (event.occurredAt >= since && event.occurredAt < until) events.set(event.eventId, event);
  }
  for (const [reason, count] of unusable)
    log({ step: 'reconcile', outcome: 'unusable', source: name, reason, events: count });
  return [...events.values()].sort((a, b) => a.occurredAt.getTime() - b.occurredAt.getTime());
}

/** Reads a listed event as the receiver would read its delivery. Returns the reason if it can't be used. */
async function readListed(source: Source, item: unknown): Promise<(NewEvent & { readonly occurredAt: Date }) | string> {
  const body = new TextEncoder().encode(textOf(item));
  const headers = new Headers({ 'content-type': 'application/json' });
  const delivery = new DeliveryValues({ method: 'POST', url: '', headers, body });
  const identified = await identify(source, delivery, () => '');
  const [event] = identified.outcome === 'identified' ? identified.events : [];
  if (event === undefined) return 'not a JSON object';
  // The id is the hash of the content only if the event has no id.
  if (event.eventId === (await sha256(body))) return 'no usable id';
  const { type } = event;
  if (type === null || !isExpected(source.types, type)) return 'another type';
  if (event.occurredAt === null) return 'no time';
  // The API may write an event differently from its delivery. Without a replay key, a later delivery is a duplicate and
  // not another event.
  return { ...event, occurredAt: event.occurredAt, fingerprint: null };
}

const isExpected = (types: ExpectedTypes, type: string) =>
  types === '*' || types.some((pattern) => covers(pattern, type));

function textOf(item: unknown): string {
  try {
    return JSON.stringify(item) ?? '';
  } catch {
    return '';
  }
}

/** The limits for one transaction, which is one request. An event usually has a few KiB, and Neon accepts 64 MiB. */
const MAX_CHUNK = 100;
const MAX_CHUNK_CHARACTERS = 4 * 1024 * 1024;

function chunksOf(events: readonly NewEvent[]): NewEvent[][] {
  const chunks: NewEvent[][] = [];
  let characters = 0;
  for (const event of events) {
    const last = chunks.at(-1);
    if (last && last.length < MAX_CHUNK && characters + event.body.length <= MAX_CHUNK_CHARACTERS) last.push(event);
    else {
      chunks.push([event]);
      characters = 0;
    }
    characters += event.body.length;
  }
  return chunks;
}

async function valuesDelivered({ name, kind, db }: ListRun, known: readonly string[]) {
  const body = kind.same && (await loadDelivered(db, name, known));
  const parsed = body === undefined ? undefined : parseJson(body);
  if (parsed?.outcome !== 'parsed') return null;
  return Object.fromEntries((kind.same ?? []).map((path) => [path, jsonAt(path, parsed.json) ?? null]));
}

/** Long enough for a version or an account. */
const MAX_VALUE_LENGTH = 100;

/**
 * Compares an event with the delivered ones. A handler could misread an event of another API version, or treat a test
 * event as a real one.
 */
function differenceOf(
  event: NewEvent,
  same: readonly string[],
  delivered: Due['row']['delivered'],
): Differing | undefined {
  if (delivered === null) return undefined;
  const json: unknown = JSON.parse(event.body);
  const text = (value: unknown) => cleanText(JSON.stringify(value ?? null), MAX_VALUE_LENGTH);
  const paths = same.filter((path) => path in delivered && text(jsonAt(path, json)) !== text(delivered[path]));
  if (paths.length === 0) return undefined;
  const parts = paths.map((path) => `${path} is ${text(jsonAt(path, json))} instead of ${text(delivered[path])}`);
  const error = `the API lists this event in another form than your endpoint receives: ${parts.join(', ')}. Retry it if your handler can read it`;
  return { eventId: event.eventId, error, paths };
}

function dateIn(text: string | undefined): Date | undefined {
  const date = new Date(text ?? Number.NaN);
  return Number.isNaN(date.getTime()) ? undefined : date;
}
