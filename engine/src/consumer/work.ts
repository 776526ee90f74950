import { openDatabase } from '../db/client.ts';
import { isWorkable, loadEvents } from '../db/events.ts';
import type { ConsumerBindings, Message } from '../shared/runtime.ts';
import { traceFields } from '../shared/trace.ts';
import { MAX_GROUP, type Workable, workGroup } from './group.ts';
import { parkAndWake, workInOrder } from './in-order.ts';
import { readMessage } from './messages.ts';
import { DEFERRED, type Outcome, outcomeFields, UNREADABLE } from './outcomes.ts';
import type { ConsumerDependencies, Portion, PortionOutcomes } from './portions.ts';
import { BODY_GONE, obstacleTo, type Work, Works } from './works.ts';

/**
 * Works the events of a portion: one query loads them, one transaction commits them. Those with an order key are worked after
 * the others, each when it is its turn.
 */
export async function workEvents(
  portion: Portion,
  env: ConsumerBindings,
  dependencies: ConsumerDependencies,
): Promise<PortionOutcomes> {
  const { messages, isLate, begun } = portion;
  const { now, log } = dependencies;
  const started = now();
  const db = openDatabase(env.DATABASE_URL);
  const works = new Works();
  const contents = new Map<Message, { readonly works: readonly Work[]; readonly unreadable: boolean }>();
  for (const message of messages) {
    const { events, unreadable } = await readMessage(message, db, log);
    contents.set(message, { works: events.map((event) => works.of(event)), unreadable });
  }

  const keys = works.all();
  const loaded = keys.length > 0 ? await loadEvents(db, keys, begun) : [];
  const loadedAt = now();
  const workable: Workable[] = [];
  const keyed: Work[] = [];
  for (const event of loaded) {
    const work = works.of(event);
    const obstacle = obstacleTo(event, messages.length > 1, loadedAt);
    work.event = event;
    work.outcome = obstacle ?? DEFERRED;
    if (event.orderKey !== null && obstacle !== BODY_GONE) keyed.push(work);
    else if (obstacle === undefined && isWorkable(event)) workable.push(Object.assign(work, { event }));
  }
  const withoutBody = works.all().filter(({ outcome }) => outcome === BODY_GONE);
  if (withoutBody.length > 0) await parkAndWake(withoutBody, BODY_GONE, db, env, dependencies);
  for (let from = 0; from < workable.length && !isLate(); from += MAX_GROUP) {
    const group = workable.slice(from, from + MAX_GROUP);
    await workGroup(
      group.map((work) => ({ events: [work] })),
      db,
      env,
      dependencies,
    );
  }
  const logWork = ({ source, eventId, event, outcome }: Work) => {
    if (outcome === 'alone') return;
    const ms = now().getTime() - started.getTime();
    const trace = traceFields(event?.headers.traceparent);
    log({ step: 'completion', source, event_id: eventId, ...outcomeFields(outcome), ...trace, ms });
  };
  if (keyed.length > 0) await workInOrder(keyed, portion, db, env, dependencies, logWork);
  for (const work of works.all()) logWork(work);
  const settled = new Map<Message, readonly Outcome[] | 'alone'>();
  for (const [message, { works, unreadable }] of contents) {
    const outcomes = works.flatMap(({ outcome, again }) => [
      ...(outcome === 'alone' ? [] : [outcome]),
      ...(again ? [again] : []),
    ]);
    const isAlone = works.some(({ outcome }) => outcome === 'alone');
    settled.set(message, isAlone ? 'alone' : unreadable ? [...outcomes, UNREADABLE] : outcomes);
  }
  return settled;
}
