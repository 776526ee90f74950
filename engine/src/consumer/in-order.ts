import type { Database } from '../db/client.ts';
import { DatabaseError, isTurnLost } from '../db/errors.ts';
import { isWorkable, parkEvents } from '../db/events.ts';
import { type EventKey, keyText } from '../db/keys.ts';
import { findNext, type Line, type LineKey, type LoadedLine, linesOf, lineText, loadLines } from '../db/order.ts';
import type { Failure } from '../db/schema.ts';
import { sendTickets } from '../queue/tickets.ts';
import type { ConsumerBindings } from '../shared/runtime.ts';
import { holdsWhenParked, MAX_GROUP, type Workable, workGroup } from './group.ts';
import { DEFERRED, databaseUnavailable, NOT_ITS_TURN, type Outcome, secondsUntilDue } from './outcomes.ts';
import type { ConsumerDependencies, Portion } from './portions.ts';
import { obstacleTo, type Work } from './works.ts';

/**
 * After this many commits, a run stops: the next event of each line gets a ticket, and the tickets of this portion are
 * acknowledged. A run may make 1,000 calls to the outside, and a handler that reads makes some for each event.
 */
const MAX_ROUNDS = 20;

/** Events loaded at a time, of all lines together. */
const MAX_LOADED = 2 * MAX_GROUP;

/**
 * Works the events with an order key that are first in their line, and then the events behind them, so that they need no
 * tickets of their own. The ticket of any other event is acknowledged without work. The run that completes the event before it
 * then looks: it finds the next event of the line, and works it or sends it a ticket.
 *
 * A ticket is acknowledged only after that look. If a run is killed between its commit and its look, its ticket is redelivered,
 * and the next run looks. A redelivered ticket works at most its own event, and sends the next event a ticket instead of working
 * it: if that event kills the isolate, the queue must give up that event's own ticket.
 */
export async function workInOrder(
  keyed: readonly Work[],
  { messages, isAgain, isLate }: Portion,
  db: Database,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
  logWorked: (work: Workable) => void,
): Promise<void> {
  const { now } = dependencies;
  const tickets = Map.groupBy(keyed, (work) => lineText(lineOf(work)));
  const byKey = new Map(keyed.map((work) => [keyText({ source: work.source, eventId: work.eventId }), work]));
  const hasTicket = ({ source, eventId }: EventKey) => byKey.has(keyText({ source, eventId }));
  const toWake: Line[] = [];
  let toWork: LoadedLine[] = [];
  // A redelivered ticket must look, even if its own event is finished.
  const wanted = [...tickets.values()].filter((those) => isAgain || those.some(isPending));
  const keys = wanted.flatMap(([work]) => (work ? [lineOf(work)] : []));
  let perLine = Math.max(2, Math.ceil(MAX_LOADED / keys.length));
  for (const line of keys.length > 0 ? await loadLines(db, keys, perLine) : []) {
    const lineTickets = tickets.get(lineText(line)) ?? [];
    const [first] = line.events;
    const own = lineTickets.find(({ eventId }) => eventId === first?.eventId);
    for (const work of lineTickets) if (isPending(work)) work.outcome = NOT_ITS_TURN;
    if (!own || !first) {
      if (isAgain) toWake.push(line);
      continue;
    }
    const obstacle = obstacleTo(first, messages.length > 1, now());
    own.outcome = obstacle ?? DEFERRED;
    if (!obstacle) toWork.push(line);
  }

  for (let round = 1; toWork.length > 0; round++) {
    const isLast = isAgain || round === MAX_ROUNDS;
    const done: LoadedLine[] = [];
    let tookAll = true;
    for (const lines of groupsOf(toWork)) {
      if (isLate()) {
        toWake.push(...lines);
        continue;
      }
      // How many of the next events the commit loads. None in the last round, because nothing more is worked.
      for (const line of lines) line.lookFor = isLast ? 0 : perLine;
      const runs = lines.map((line) => ({ line, events: workableIn(line, isAgain ? 1 : MAX_GROUP) }));
      const worked = await workGroup(runs, db, env, dependencies);
      for (const [n, line] of lines.entries()) {
        const { events = [] } = worked[n] ?? {};
        tookAll &&= events.length === runs[n]?.events.length;
        const next = nextStep(events);
        if (next === 'look') done.push(line);
        if (next === 'wake') toWake.push(line);
        for (const work of events) settle(work);
      }
    }
    // A handler that reads is given one event at a time, so loading more would be wasted.
    perLine = tookAll ? Math.max(2, Math.ceil(MAX_LOADED / toWork.length)) : 2;
    toWork = [];
    if (isLast || isLate()) {
      toWake.push(...done);
      break;
    }
    try {
      for (const line of await behind(done)) {
        const [first] = line.events;
        const obstacle = first && obstacleTo(first, true, now());
        if (!obstacle) toWork.push(line);
        // An event that must wait, or be worked alone, gets a ticket of its own.
        else if (first?.status === 'pending') toWake.push(line);
      }
    } catch (error) {
      keepTickets(done, databaseUnavailable(error));
      if (!DatabaseError.isFromDatabase(error)) throw error;
    }
  }
  if (toWake.length > 0) {
    const problem = await wake(toWake, db, env, now());
    if (problem) keepTickets(toWake, problem);
  }

  /**
   * The next events of these lines. If the commit loaded some, it returns these. If not, it looks once more: the commit may have
   * missed an event that was claimed at the same moment.
   */
  async function behind(lines: readonly LoadedLine[]): Promise<readonly LoadedLine[]> {
    const seen = lines.flatMap((line) => (line.next?.length ? [{ ...line, events: line.next, next: undefined }] : []));
    const others = lines.filter(({ next }) => !next?.length);
    return others.length > 0 ? [...seen, ...(await loadLines(db, others, perLine))] : seen;
  }

  /** The first event of a line, and those behind it that can be worked in the same group. */
  function workableIn({ events }: LoadedLine, most: number): Workable[] {
    const count = events.findIndex((event, n) => n > 0 && obstacleTo(event, true, now()) !== undefined);
    return events
      .slice(0, Math.min(most, count < 0 ? events.length : count))
      .filter(isWorkable)
      .map((event) => {
        const { source, eventId } = event;
        const own = byKey.get(keyText({ source, eventId })) ?? { source, eventId };
        return Object.assign(own, { event, outcome: NOT_ITS_TURN });
      });
  }

  /** An event without a ticket is logged at once. Of the others only the outcome is needed: bodies would fill the memory. */
  function settle(work: Workable): void {
    if (!hasTicket(work)) logWorked(work);
    work.result = undefined;
    work.event = { ...work.event, body: '' };
  }

  /**
   * `look`: find the next event. `wake`: the first unfinished event needs a ticket. `stop`: another run, or a ticket that comes
   * again, continues this line.
   */
  function nextStep(events: readonly Workable[]): 'look' | 'wake' | 'stop' {
    const stopped = events.find((work) => !letsLineGoOn(work));
    if (!stopped) return events.length > 0 ? 'look' : 'stop';
    // Another run has the turn, and will look.
    if (isTurnLost(stopped.failure?.error)) return 'stop';
    const { outcome } = stopped;
    // It was not worked, and it is the next event of its line.
    if (outcome === NOT_ITS_TURN || outcome === 'alone') return 'look';
    const comesAgain = ['retry', 'database_unavailable'].includes(outcome.outcome) && hasTicket(stopped);
    return comesAgain ? 'stop' : 'wake';
  }

  /** Whether the events behind this one may run. */
  function letsLineGoOn({ source, outcome }: Workable): boolean {
    if (outcome === 'alone') return false;
    if (outcome.outcome === 'parked') return !holdsWhenParked(source, dependencies);
    return ['done', 'ignored', 'already_finished'].includes(outcome.outcome);
  }

  /** Doesn't acknowledge the tickets of these lines: they are delivered again, and that run looks. */
  function keepTickets(lines: readonly Line[], outcome: Outcome): void {
    for (const line of lines) for (const work of tickets.get(lineText(line)) ?? []) work.again = outcome;
  }
}

/**
 * Sends a ticket for the first event of each line, for the time when it is due. Returns the outcome if the tickets could not be
 * sent, otherwise `undefined`.
 */
export async function wake(
  lines: readonly LineKey[],
  db: Database,
  env: Pick<ConsumerBindings, 'EVENTS'>,
  now: Date,
): Promise<Outcome | undefined> {
  try {
    const next = await findNext(db, lines);
    const tickets = next.map(({ notBefore, ...key }) => ({
      ...key,
      delaySeconds: secondsUntilDue({ notBefore }, now),
    }));
    return (await sendTickets(env.EVENTS, tickets)) ? undefined : DEFERRED;
  } catch (error) {
    if (!DatabaseError.isFromDatabase(error)) throw error;
    return databaseUnavailable(error);
  }
}

/**
 * Parks events without another try, and sends tickets for the next events of their lines, even if an earlier run already parked
 * or completed them and was killed before that. If the queue doesn't take a ticket, the sweep sends one.
 */
export async function parkAndWake(
  events: readonly EventKey[],
  why: { readonly failure: Failure; readonly error: string },
  db: Database,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<readonly EventKey[]> {
  const now = dependencies.now();
  const given = events.map(({ source, eventId }) => ({
    source,
    eventId,
    holds: holdsWhenParked(source, dependencies),
  }));
  const parked = await parkEvents(db, given, why, now);
  const lines = await linesOf(db, events);
  if (lines.length > 0) await wake(lines, db, env, now);
  return parked;
}

const lineOf = ({ source, event }: Work) => ({ source, orderKey: event?.orderKey ?? '' });
const isPending = ({ event }: Work) => event?.status === 'pending';

/** Lines whose events fit into a group. */
function groupsOf(lines: readonly LoadedLine[]): LoadedLine[][] {
  const groups: LoadedLine[][] = [];
  let events = MAX_GROUP;
  for (const line of lines) {
    if (events + line.events.length > MAX_GROUP) {
      groups.push([]);
      events = 0;
    }
    groups.at(-1)?.push(line);
    events += line.events.length;
  }
  return groups;
}
