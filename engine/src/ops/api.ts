import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { type ActionResult, loadMatching, MAX_RERUN, runAction } from '../db/actions.ts';
import { type Database, openDatabase } from '../db/client.ts';
import { type EventKey, idempotencyKeyOf } from '../db/keys.ts';
import { findNext, type LineKey } from '../db/order.ts';
import { pauseKind, resumeKind } from '../db/pauses.ts';
import { restartReconcile } from '../db/reconciles.ts';
import type { ActionName } from '../db/schema.ts';
import { loadPauses, loadReconciles, loadStatus } from '../db/status.ts';
import { EffectDetails, EventDetails, ListedEvent, listEvents, loadDetails } from '../db/views.ts';
import type { Source } from '../kit/index.ts';
import { sendTickets, type Ticket } from '../queue/tickets.ts';
import type { Log } from '../shared/log.ts';
import { problem } from '../shared/problem.ts';
import type { OpsBindings, Queue } from '../shared/runtime.ts';
import { isStorableText } from '../shared/text.ts';
import type { Identity } from './access.ts';
import {
  cursorText,
  type Input,
  isAction,
  type RequestedAction,
  readAction,
  readFields,
  readList,
  readPause,
  readReconcile,
} from './input.ts';

/** What the ops Worker is built from. */
export interface OpsDependencies {
  readonly sources: Readonly<Record<string, Source>>;
  readonly now: () => Date;
  readonly log: Log;
  /** What the console is called. */
  readonly name?: string | undefined;
}

export interface OpsTypes {
  Bindings: OpsBindings;
  Variables: { operator: Extract<Identity, { outcome: 'known' }> };
}

// What is answered, beside Status of db/status.ts. docs/ops-api.json is made from these.
export const EventPage = v.strictObject({
  events: v.array(ListedEvent),
  next_cursor: v.pipe(v.nullable(v.string()), v.description('Null at the end of the list')),
});
export const ShownEvent = v.strictObject({
  ...EventDetails.entries,
  effects: v.array(v.strictObject({ ...EffectDetails.entries, idempotency_key: v.string() })),
});
export type ShownEvent = v.InferOutput<typeof ShownEvent>;

/** An operator waits, and Neon wakes up in less than a second. */
const DATABASE_TIMEOUT_MS = 5000;

export function openOpsDatabase(env: OpsBindings): Database {
  return openDatabase(env.DATABASE_URL, AbortSignal.timeout(DATABASE_TIMEOUT_MS));
}

/** An event with the keys that the other sides of its effects got. Undefined if there is no such event. */
export async function loadEvent(db: Database, key: EventKey, maxBody?: number): Promise<ShownEvent | undefined> {
  const { source, eventId } = key;
  const details = isStorableText(source + eventId) ? await loadDetails(db, key, maxBody) : undefined;
  if (details === undefined) return undefined;
  const effects = details.effects.map(async (effect) => ({
    ...effect,
    idempotency_key: await idempotencyKeyOf({ source, eventId, name: effect.name }),
  }));
  return { ...details, effects: await Promise.all(effects) };
}

/** The JSON API. Who may use it has been decided before. */
export function createApi(dependencies: OpsDependencies): Hono<OpsTypes> {
  const { sources, now, log } = dependencies;
  const api = new Hono<OpsTypes>();

  api.get('/status', async (c) => c.json(await loadStatus(openOpsDatabase(c.env), Object.keys(sources), now())));

  api.get('/events', async (c) => {
    const list = readList(c.req.query());
    if (list.outcome === 'invalid') return badRequest(list.detail);
    const { filter, after, limit } = list.value;
    const { events, next } = await listEvents(openOpsDatabase(c.env), filter, { after, limit });
    return c.json({ events, next_cursor: cursorText(next) });
  });

  api.get('/events/:source/:event_id', async (c) => {
    const { source, event_id: eventId } = c.req.param();
    const event = await loadEvent(openOpsDatabase(c.env), { source, eventId });
    return event ? c.json(event) : NO_SUCH_EVENT();
  });

  api.post('/events/:action', async (c) => {
    const name = c.req.param('action');
    if (!isAction(name)) return c.notFound();
    const action = await actionIn(c, name);
    if (action instanceof Response) return action;
    const db = openOpsDatabase(c.env);
    if (c.req.query('dry_run') === '1') return c.json(await loadMatching(db, name, action.filter));
    if (action.expected === undefined) {
      return badRequest('expected is missing: send what ?dry_run=1 answers');
    }
    return counts(await runActionNow(c, db, action, dependencies));
  });

  api.post('/events/:source/:event_id/:action', async (c) => {
    const { source, event_id: eventId, action: name } = c.req.param();
    if (!isAction(name)) return c.notFound();
    const action = await actionIn(c, name, { source, eventId });
    if (action instanceof Response) return action;
    if (!isStorableText(source + eventId)) return NO_SUCH_EVENT();
    const db = openOpsDatabase(c.env);
    const result = await runActionNow(c, db, action, dependencies);
    const changedNothing = result.outcome === 'changed' && result.events + result.effects === 0;
    return changedNothing && !(await loadDetails(db, { source, eventId })) ? NO_SUCH_EVENT() : counts(result);
  });

  api.post('/reconciles/:source', async (c) => {
    const source = c.req.param('source');
    const read = await inputIn(c, readReconcile);
    if (read instanceof Response) return read;
    const { since, accept = false } = read;
    const db = openOpsDatabase(c.env);
    const isKnown = isStorableText(source) && (await restartReconcile(db, source, { since, accept }));
    if (!isKnown)
      return badRequest('the consumer does not reconcile this source, or has not had a tick since its deployment');
    log({ step: 'operator', outcome: 'reconcile', source });
    return c.json((await loadReconciles(db, [source]))[0]);
  });

  api.post('/pauses/:kind', async (c) => {
    const kind = c.req.param('kind');
    const read = await inputIn(c, readPause);
    if (read instanceof Response) return read;
    const db = openOpsDatabase(c.env);
    const isChanged = isStorableText(kind) && (await changePause(c, db, { kind, ...read }, dependencies));
    return isChanged ? c.json({ pauses: await loadPauses(db, kind) }) : badRequest(NOT_PAUSED);
  });

  return api;
}

export const NOT_PAUSED = 'nothing of this kind is paused, or only an operator can resume it';

/** Pauses or resumes a kind of effects, or tries a call now. False if there is nothing to resume or to try. */
export async function changePause(
  { env, var: { operator } }: Context<OpsTypes>,
  db: Database,
  { kind, host, action }: { kind: string; host?: string | undefined; action: 'pause' | 'resume' | 'try' },
  { now, log }: OpsDependencies,
): Promise<boolean> {
  const at = now();
  const first =
    action === 'pause'
      ? await pauseKind(db, { kind, host }, operator.who, at)
      : await resumeKind(db, { kind, host }, action, at);
  if (first === undefined) return false;
  // If the queue doesn't take them, the sweep sends them.
  const sent = await sendAll(
    env.EFFECTS,
    first.map(({ source, eventId, name }) => ({ source, eventId, name })),
  );
  log({ step: 'operator', outcome: action, kind, host, tickets: sent ? 'sent' : 'not_sent' });
  return true;
}

/** Does what an operator wants, sends the tickets at once, and logs it. */
export async function runActionNow(
  { env, var: { operator } }: Context<OpsTypes>,
  db: Database,
  requested: RequestedAction,
  { now, log }: OpsDependencies,
): Promise<ActionResult & { readonly at: Date }> {
  const at = now();
  const result = await runAction(db, { ...requested, who: operator.who, at });
  if (result.outcome !== 'changed') return { ...result, at };
  const { events, effects, lines, eventKeys, effectKeys } = result;
  // The sweep sends the tickets that the queue doesn't take.
  const sent =
    requested.action === 'discard'
      ? lines.length === 0 || (await sendNext(env.EVENTS, db, lines))
      : (await sendAll(env.EVENTS, eventKeys)) && (await sendAll(env.EFFECTS, effectKeys));
  log({ step: 'operator', outcome: requested.action, events, effects, tickets: sent ? 'sent' : 'not_sent' });
  return { ...result, at };
}

/** Sends tickets for the first events of these lines. If that fails, the sweep sends them: the action is done. */
async function sendNext(queue: Queue, db: Database, lines: readonly LineKey[]): Promise<boolean> {
  const next = await findNext(db, lines).catch(() => undefined);
  if (!next) return false;
  return sendAll(
    queue,
    next.map(({ source, eventId }) => ({ source, eventId })),
  );
}

/** Ten calls of a queue at the same time: a queue takes 5,000 messages in a second. */
const TICKETS_AT_ONCE = 1000;

async function sendAll(queue: Queue, tickets: readonly Ticket[]): Promise<boolean> {
  for (let from = 0; from < tickets.length; from += TICKETS_AT_ONCE) {
    if (!(await sendTickets(queue, tickets.slice(from, from + TICKETS_AT_ONCE)))) return false;
  }
  return true;
}

function actionIn(c: Context<OpsTypes>, name: ActionName, key?: EventKey): Promise<RequestedAction | Response> {
  return inputIn(c, (fields) => readAction(name, fields, key));
}

/** A page of another site can't send JSON without asking, and we allow nobody. */
export async function inputIn<Value extends object>(
  c: Context<OpsTypes>,
  read: (fields: Readonly<Record<string, unknown>>) => Input<Value>,
): Promise<Value | Response> {
  const text = await c.req.text();
  const isJson = /^application\/json\b/i.test(c.req.header('content-type') ?? '');
  if (text !== '' && !isJson) return problem(415, 'The body is not application/json');
  const body = readFields(text);
  const input = body.outcome === 'invalid' ? body : read(body.value);
  return input.outcome === 'invalid' ? badRequest(input.detail) : input.value;
}

function counts(result: ActionResult): Response {
  switch (result.outcome) {
    case 'changed':
      return Response.json({ events: result.events, effects: result.effects });
    case 'unexpected':
      return problem(409, 'Nothing was changed', `other events match now than expected: ${result.matching} in all`);
    case 'too_many':
      return problem(409, 'Nothing was changed', `at most ${MAX_RERUN} events are run again at a time: choose fewer`);
  }
}

function badRequest(detail: string): Response {
  return problem(400, 'The request cannot be understood', detail);
}

const NO_SUCH_EVENT = () => problem(404, 'There is no such event');
