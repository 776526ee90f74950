import { type Context, Hono } from 'hono';
import { loadActivity } from '../db/activity.ts';
import { type Database, openDatabase } from '../db/client.ts';
import { loadDetails } from '../db/details.ts';
import { listEvents } from '../db/list.ts';
import type { Operated } from '../db/operate.ts';
import { countMatching } from '../db/rerun.ts';
import { problem } from '../problem.ts';
import { isStorableText } from '../queue/tickets.ts';
import { type ActionName, act, isAction, type Order } from './act.ts';
import { nextActivity, readActivityCursor } from './activity.ts';
import type { ConsoleDependencies } from './dependencies.ts';
import { isFromAnotherSite } from './identify.ts';
import { cursorOf, readCursor, readFilter, readLimit } from './input.ts';
import { readOrder } from './order.ts';
import { loadOverview } from './overview.ts';
import { withIdempotencyKeys } from './shown-event.ts';

export interface ApiTypes {
  Bindings: ReceiverEnv;
  Variables: { who: string };
}

/** An operator waits, and Neon wakes up in less than a second. */
const DATABASE_TIMEOUT_MS = 5000;

export function openConsoleDatabase(env: ReceiverEnv): Database {
  return openDatabase(env.DATABASE_URL, AbortSignal.timeout(DATABASE_TIMEOUT_MS));
}

/** The JSON API. Who may use it has been decided before. */
export function createApi({ sources, now, log }: ConsoleDependencies): Hono<ApiTypes> {
  const api = new Hono<ApiTypes>();

  api.get('/status', async (c) => c.json(await loadOverview(openConsoleDatabase(c.env), Object.keys(sources), now())));

  api.get('/events', async (c) => {
    const { cursor, limit, ...fields } = c.req.query();
    const [filter, after, size] = [readFilter(fields), readCursor(cursor), readLimit(limit)];
    for (const read of [filter, after, size]) if (read.outcome === 'invalid') return badRequest(read.detail);
    if (filter.outcome === 'invalid' || after.outcome === 'invalid' || size.outcome === 'invalid') return c.notFound();
    const paging = { after: after.value, limit: size.value, now: now() };
    const { events, next } = await listEvents(openConsoleDatabase(c.env), filter.value, paging);
    return c.json({ events, next_cursor: cursorOf(next) });
  });

  api.get('/events/:source/:event_id', async (c) => {
    const { source, event_id: eventId } = c.req.param();
    const details = isStorableText(source + eventId)
      ? await loadDetails(openConsoleDatabase(c.env), { source, eventId })
      : undefined;
    return details ? c.json(await withIdempotencyKeys(details)) : NO_SUCH_EVENT();
  });

  api.get('/activity', async (c) => {
    const after = readActivityCursor(c.req.query('after'), now());
    if (after.outcome === 'invalid') return badRequest(after.detail);
    const { from, until } = after.value;
    return c.json(nextActivity(after.value, await loadActivity(openConsoleDatabase(c.env), from, until)));
  });

  api.post('/events/:action', async (c) => {
    const action = c.req.param('action');
    if (!isAction(action)) return c.notFound();
    const order = await orderIn(c, action);
    if (order instanceof Response) return order;
    const db = openConsoleDatabase(c.env);
    if (c.req.query('dry_run') === '1') return c.json({ matching: await countMatching(db, action, order.filter) });
    if (order.expected === undefined) return badRequest('expected is missing: the number of events that you have seen');
    return counts(await act(db, order, { env: c.env, who: c.get('who'), now: now(), log }));
  });

  api.post('/events/:source/:event_id/:action', async (c) => {
    const { source, event_id: eventId, action } = c.req.param();
    if (!isAction(action)) return c.notFound();
    const order = await orderIn(c, action, { source, eventId });
    if (order instanceof Response) return order;
    if (!isStorableText(source + eventId)) return NO_SUCH_EVENT();
    const db = openConsoleDatabase(c.env);
    const operated = await act(db, order, { env: c.env, who: c.get('who'), now: now(), log });
    const changedNothing = operated.outcome === 'changed' && operated.events + operated.effects === 0;
    return changedNothing && !(await loadDetails(db, { source, eventId })) ? NO_SUCH_EVENT() : counts(operated);
  });

  return api;
}

/** Reads the body of a change. A page of another site can't send JSON without asking, and we allow nobody. */
async function orderIn(
  c: Context<ApiTypes>,
  action: ActionName,
  key?: { source: string; eventId: string },
): Promise<Order | Response> {
  if (isFromAnotherSite(c.req.raw)) return problem(403, 'Another site sent this request');
  const type = c.req.header('content-type') ?? '';
  const text = await c.req.text();
  if (text !== '' && !/^application\/json\b/i.test(type)) return problem(415, 'The body is not application/json');
  const order = readOrder(action, text, key);
  return order.outcome === 'invalid' ? badRequest(order.detail) : order.value;
}

function counts(operated: Operated): Response {
  switch (operated.outcome) {
    case 'changed':
      return Response.json({ events: operated.events, effects: operated.effects });
    case 'unexpected':
      return problem(
        409,
        'Another number of events matches than expected',
        `${operated.matching} events match now. Nothing was changed`,
      );
  }
}

function badRequest(detail: string): Response {
  return problem(400, 'The request can not be understood', detail);
}

const NO_SUCH_EVENT = () => problem(404, 'There is no such event');
