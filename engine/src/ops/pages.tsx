import { type Context, Hono } from 'hono';
import { type ActionCounts, loadMatching } from '../db/actions.ts';
import type { EventKey } from '../db/keys.ts';
import type { ActionName } from '../db/schema.ts';
import { loadStatus } from '../db/status.ts';
import { listEvents } from '../db/views.ts';
import { countedBoth } from '../shared/counts.ts';
import { namedTypes } from '../shared/event-types.ts';
import { isStorableText } from '../shared/text.ts';
import {
  changePause,
  loadEvent,
  NOT_PAUSED,
  type OpsDependencies,
  type OpsTypes,
  openOpsDatabase,
  runActionNow,
} from './api.ts';
import {
  cursorText,
  type Input,
  isAction,
  type RequestedAction,
  readAction,
  readFilter,
  readList,
  readPause,
  withoutEmpty,
} from './input.ts';
import { MAX_SHOWN } from './pages/body.tsx';
import { Bulk } from './pages/bulk.tsx';
import { EventPage } from './pages/event.tsx';
import { html, Message, type PageContext } from './pages/layout.tsx';
import { List } from './pages/list.tsx';
import { Overview } from './pages/overview.tsx';
import { eventPath, listPath } from './pages/parts.tsx';
import { DONE } from './words.ts';

/** The pages. Who may see them, and whether a form is ours, has been decided before. */
export function createPages(dependencies: OpsDependencies): Hono<OpsTypes> {
  const { sources, now, name } = dependencies;
  const pages = new Hono<OpsTypes>();
  const names = Object.keys(sources);
  const types = [...new Set(Object.values(sources).flatMap(({ types }) => namedTypes(types)))].sort();
  const contextOf = (c: Context<OpsTypes>) => ({
    now: now(),
    name,
    operator: c.get('operator'),
    notice: noticeOf(c.req.query('changed')),
  });
  const message = (c: Context<OpsTypes>, status: number, title: string, text: string) =>
    html(<Message {...contextOf(c)} title={title} text={text} />, status);

  pages.get('/', async (c) => {
    const status = await loadStatus(openOpsDatabase(c.env), names, now());
    return html(<Overview {...contextOf(c)} status={status} />);
  });

  // The buttons of a pause on the overview.
  pages.post('/pauses', async (c) => {
    const { kind = '', ...fields } = Object.fromEntries(new URLSearchParams(await c.req.text()));
    const read = readPause(fields);
    if (read.outcome === 'invalid') return message(c, 400, 'Nothing was changed', read.detail);
    const isChanged =
      isStorableText(kind) && (await changePause(c, openOpsDatabase(c.env), { kind, ...read.value }, dependencies));
    return isChanged ? c.redirect('/ops', 303) : message(c, 409, 'Nothing was changed', `${NOT_PAUSED}.`);
  });

  pages.get('/events', async (c) => {
    const { changed, ...fields } = c.req.query();
    const list = readList(fields);
    if (list.outcome === 'invalid') return message(c, 400, 'This list cannot be understood', list.detail);
    const { filter, after, limit } = list.value;
    const { events, next } = await listEvents(openOpsDatabase(c.env), filter, { after, limit });
    return html(
      <List
        {...contextOf(c)}
        filter={filter}
        events={events}
        nextCursor={cursorText(next)}
        searchedTo={events.length < limit ? next?.receivedAt : undefined}
        isFirstPage={after === undefined}
        sources={names}
        types={types}
      />,
    );
  });

  // The address of the same event in the API, without `api`.
  pages.get('/events/:source/:event_id', (c) => c.redirect(eventPath(c.req.param())));

  pages.get('/event', async (c) => {
    const event = await eventIn(c, MAX_SHOWN + 1);
    if (event === undefined) return message(c, 404, 'There is no such event', NOT_FOUND);
    return html(<EventPage {...contextOf(c)} event={event} withoutBody={c.req.query('live') === '1'} />);
  });

  // As text, in a sandbox: whatever it contains, a browser only shows it.
  pages.get('/event/body', async (c) => {
    const event = await eventIn(c);
    if (event?.body == null) return message(c, 404, 'There is no such body', NOT_FOUND);
    c.header('content-security-policy', "default-src 'none'; sandbox; frame-ancestors 'none'");
    return c.text(event.body);
  });

  pages.post('/event', async (c) => {
    const { source = '', event_id = '' } = c.req.query();
    const action = await actionIn(c, { source, eventId: event_id });
    if (action.outcome === 'invalid') return message(c, 400, 'Nothing was changed', action.detail);
    const result = isStorableText(source + event_id)
      ? await runActionNow(c, openOpsDatabase(c.env), action.value, dependencies)
      : undefined;
    const counts = result?.outcome === 'changed' ? result : { events: 0, effects: 0 };
    return c.redirect(`${eventPath({ source, event_id })}&changed=${changedText(action.value.action, counts)}`, 303);
  });

  pages.get('/bulk', async (c) => {
    const { action = '', ...fields } = c.req.query();
    const filter = readFilter(fields);
    if (!isAction(action) || filter.outcome === 'invalid') {
      return message(c, 400, 'This cannot be understood', NOT_FOUND);
    }
    const matching = await loadMatching(openOpsDatabase(c.env), action, filter.value);
    return html(<Bulk {...contextOf(c)} action={action} filter={filter.value} matching={matching} />);
  });

  pages.post('/bulk', async (c) => {
    const action = await actionIn(c);
    if (action.outcome === 'invalid') return message(c, 400, 'Nothing was changed', action.detail);
    const { action: name, filter } = action.value;
    const db = openOpsDatabase(c.env);
    const result = await runActionNow(c, db, action.value, dependencies);
    switch (result.outcome) {
      case 'changed': {
        const { at, received } = result;
        // The times spare the list a search of all events.
        const span = received && { since: received[0], until: new Date(received[1].getTime() + 1) };
        return c.redirect(listPath({ action_at: at, ...span }, { changed: changedText(name, result) }), 303);
      }
      case 'too_many':
      case 'unexpected': {
        const text = 'Nothing was changed: the events that match have changed since you looked at them.';
        const refused = { text, reason: action.value.reason };
        const matching = await loadMatching(db, name, filter);
        const page = <Bulk {...contextOf(c)} action={name} filter={filter} matching={matching} refused={refused} />;
        return html(page, 409);
      }
    }
  });

  return pages;
}

const NOT_FOUND = 'The address is not complete, or the event is so old that it has been deleted.';

function eventIn(c: Context<OpsTypes>, maxBody?: number) {
  const { source = '', event_id: eventId = '' } = c.req.query();
  return loadEvent(openOpsDatabase(c.env), { source, eventId }, maxBody);
}

/** The form of an action: on the event with this key, or on all that match the filter in the address. */
async function actionIn(c: Context<OpsTypes>, key?: EventKey): Promise<Input<RequestedAction>> {
  const form = new URLSearchParams(await c.req.text());
  const { action = '', understood, expected, reason, effects, finished_at } = Object.fromEntries(form);
  if (!isAction(action)) return { outcome: 'invalid', detail: 'There is no such action.' };
  if (action === 'rerun' && understood !== 'yes') {
    const detail = 'A rerun makes the changes of its events a second time: confirm that you know it.';
    return { outcome: 'invalid', detail };
  }
  const about = key ? { finished_at } : { filter: withoutEmpty(c.req.query()), expected: expected ?? '' };
  return readAction(action, { reason, effects: effects === 'yes', ...about }, key);
}

/** What was done, for an address: `retry-3-1`. */
function changedText(action: ActionName, { events, effects }: ActionCounts): string {
  return `${action}-${events}-${effects}`;
}

/** A sentence about what was done, of `retry-3-1`. The address can't put any other words on the page. */
function noticeOf(changed: string | undefined): PageContext['notice'] {
  const [, action = '', events = '', effects = ''] = /^([a-z]+)-(\d{1,9})-(\d{1,9})$/.exec(changed ?? '') ?? [];
  if (!isAction(action)) return undefined;
  const counts = { events: Number(events), effects: Number(effects) };
  if (counts.events + counts.effects === 0) {
    return { text: 'Nothing was changed: it is in another state by now.', style: '' };
  }
  return { text: `${DONE[action].title} ${countedBoth(counts)}.`, style: 'good' };
}
