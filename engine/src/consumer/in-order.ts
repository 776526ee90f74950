import type { Database } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import { isWorkable, parkEvents } from '../db/events.ts';
import type { EventKey } from '../db/keys.ts';
import { findNext, type Line, type LineKey, type LoadedLine, lineText, loadLines } from '../db/order.ts';
import type { Failure } from '../db/schema.ts';
import { sendTickets } from '../queue/tickets.ts';
import type { ConsumerBindings } from '../shared/runtime.ts';
import { holdsWhenParked, MAX_GROUP, type Workable, workGroup } from './group.ts';
import { DEFERRED, databaseUnavailable, NOT_ITS_TURN, type Outcome, secondsUntilDue } from './outcomes.ts';
import type { ConsumerDependencies, Portion } from './portions.ts';
import { obstacleTo, type Work, type Works } from './works.ts';

/** Whoever works a line goes on with it for this long. Then its ticket is settled, and the next event gets a ticket. */
const GO_ON_MS = 60_000;

/** Events loaded at a time, of all lines together. */
const MAX_LOADED = 2 * MAX_GROUP;

/**
 * Works the events with an order key that are first in their line, and then the events behind them, so that nobody waits for
 * another ticket. Any other event is not worked, and its ticket is acknowledged: whoever completes the one before it looks for
 * the next one.
 *
 * A ticket is acknowledged once the next event of its line is worked or has a ticket. If a run ends between its commit and its
 * look, its ticket comes again, finds its event finished, and looks. Then it only sends a ticket: if the next event kills the
 * isolate, the queue must give up the ticket of that event, and not one of an event that is finished.
 */
export async function workInOrder(
  keyed: readonly Work[],
  works: Works,
  { messages, isLate }: Portion,
  db: Database,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<void> {
  const { now } = dependencies;
  const until = now().getTime() + GO_ON_MS;
  const isAgain = messages.every(({ attempts }) => attempts > 1);
  const tickets = Map.groupBy(keyed, (work) => lineText(lineOf(work)));
  const toWake: Line[] = [];
  const wakeIf = (isNeeded: boolean, line: Line) => {
    if (isNeeded) toWake.push(line);
  };

  let going: LoadedLine[] = [];
  const toLoad = [...tickets.values()].filter((those) => isAgain || those.some(isPending));
  for (const line of await load(
    toLoad.flatMap(([work]) => (work ? [lineOf(work)] : [])),
    MAX_LOADED,
  )) {
    const those = tickets.get(lineText(line)) ?? [];
    const [first] = line.events;
    const own = those.find(({ eventId }) => eventId === first?.eventId);
    for (const work of those) if (isPending(work)) work.outcome = NOT_ITS_TURN;
    if (!own || !first) {
      wakeIf(isAgain && !those.every(isPending), line);
      continue;
    }
    const obstacle = obstacleTo(first, messages.length > 1, now());
    own.outcome = obstacle ?? DEFERRED;
    if (!obstacle) going.push(line);
  }

  // Handlers that read take one event at a time.
  let perLine = 2;
  while (going.length > 0) {
    const isLast = () => isAgain || isLate() || now().getTime() > until;
    const done: LoadedLine[] = [];
    const tookAll: boolean[] = [];
    for (const lines of groupsOf(going)) {
      for (const line of lines) line.lookFor = isLast() ? 0 : perLine;
      const runs = lines.map((line) => ({ line, events: workableIn(line, isAgain ? 1 : MAX_GROUP) }));
      const worked = await workGroup(runs, db, env, dependencies);
      for (const [n, line] of lines.entries()) {
        const { events = [] } = worked[n] ?? {};
        const last = events.at(-1);
        tookAll.push(events.length === runs[n]?.events.length);
        if (last && isFinished(last)) done.push(line);
        else wakeIf(last !== undefined && comesAgain(last) && !keyed.some((work) => work === last), line);
      }
    }
    perLine = tookAll.every(Boolean) ? Math.max(2, Math.ceil(MAX_LOADED / going.length)) : 2;
    going = [];
    if (isLast()) {
      toWake.push(...done);
      break;
    }
    try {
      for (const line of await behind(done)) {
        const [first] = line.events;
        // One that has failed before is worked with a ticket of its own.
        if (first && obstacleTo(first, true, now())) wakeIf(first.status === 'pending', line);
        else going.push(line);
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

  function load(lines: readonly LineKey[], count: number): Promise<LoadedLine[]> {
    return lines.length > 0 ? loadLines(db, lines, count) : Promise.resolve([]);
  }

  /**
   * What comes next in these lines. Where the commit has seen something, that goes on. Where it has seen nothing, it may have
   * missed an event that was claimed at the same moment: a look after the commit can't.
   */
  async function behind(lines: readonly LoadedLine[]): Promise<readonly LoadedLine[]> {
    const seen = lines.flatMap((line) => (line.next?.length ? [{ ...line, events: line.next }] : []));
    return [
      ...seen,
      ...(await load(
        lines.filter(({ next }) => !next?.length),
        perLine,
      )),
    ];
  }

  /** The event at the beginning of a line, and those behind it that can be worked in one go. */
  function workableIn({ events }: LoadedLine, most: number): Workable[] {
    const count = events.findIndex((event, n) => n > 0 && obstacleTo(event, true, now()) !== undefined);
    return events
      .slice(0, Math.min(most, count < 0 ? events.length : count))
      .filter(isWorkable)
      .map((event) => Object.assign(works.of(event), { event, outcome: NOT_ITS_TURN }));
  }

  function isFinished({ source, outcome }: Workable): boolean {
    if (outcome === 'alone') return false;
    if (outcome.outcome === 'parked') return !holdsWhenParked(source, dependencies);
    return ['done', 'ignored', 'already_finished'].includes(outcome.outcome);
  }

  /** The tickets of these lines come again, and look again. */
  function keepTickets(lines: readonly Line[], outcome: Outcome): void {
    for (const line of lines) for (const work of tickets.get(lineText(line)) ?? []) work.again = outcome;
  }
}

/**
 * Sends tickets for the first events of lines, each when it is due. Returns why that was not possible, if it was not.
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
 * Parks events without another try. If the later events of their order keys don't wait for them, the next ones get tickets. A
 * ticket that the queue doesn't take comes by the sweep.
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
  const lines = parked.flatMap(({ source, orderKey }) =>
    orderKey !== null && !holdsWhenParked(source, dependencies) ? [{ source, orderKey }] : [],
  );
  if (lines.length > 0) await wake(lines, db, env, now);
  return parked.map(({ source, eventId }) => ({ source, eventId }));
}

const lineOf = ({ source, event }: Work) => ({ source, orderKey: event?.orderKey ?? '' });
const isPending = ({ event }: Work) => event?.status === 'pending';
const comesAgain = ({ outcome }: Workable) =>
  outcome !== 'alone' && ['retry', 'database_unavailable'].includes(outcome.outcome);

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
