import { type Context, Hono } from 'hono';
import { type ActionResult, countMatching } from '../db/actions.ts';
import type { EventKey } from '../db/keys.ts';
import type { ActionName } from '../db/schema.ts';
import { loadStatus } from '../db/status.ts';
import { listEvents } from '../db/views.ts';
import { isStorableText } from '../shared/text.ts';
import { isAction, loadEvent, type OpsDependencies, type OpsTypes, openOpsDatabase, runActionNow } from './api.ts';
import { cursorOf, type Input, type RequestedAction, readAction, readFilter, readList } from './input.ts';
import { Bulk } from './pages/bulk.tsx';
import { EventPage } from './pages/event.tsx';
import { html, Message } from './pages/layout.tsx';
import { List } from './pages/list.tsx';
import { Overview } from './pages/overview.tsx';
import { counted, eventPath, listPath, MAX_SHOWN } from './pages/parts.tsx';

/** The pages. Who may see them, and whether a form is ours, has been decided before. */
export function createPages(dependencies: OpsDependencies): Hono<OpsTypes> {
  const { sources, now } = dependencies;
  const pages = new Hono<OpsTypes>();
  const names = Object.keys(sources);
  const types = [...new Set(Object.values(sources).flatMap((source) => source.types))].sort();
  const contextOf = (c: Context<OpsTypes>) => ({
    now: now(),
    operator: c.get('operator'),
    notice: noticeOf(c.req.query('changed')),
  });
  const message = (c: Context<OpsTypes>, status: number, title: string, text: string) =>
    html(<Message {...contextOf(c)} title={title} text={text} />, status);

  pages.get('/', async (c) => {
    const status = await loadStatus(openOpsDatabase(c.env), names, now());
    return html(<Overview {...contextOf(c)} status={status} />);
  });

  pages.get('/events', async (c) => {
    const { changed, ...fields } = c.req.query();
    const list = readList(fields);
    if (list.outcome === 'invalid') return message(c, 400, 'This list can not be understood', list.detail);
    const { filter, after, limit } = list.value;
    const { events, next } = await listEvents(openOpsDatabase(c.env), filter, { after, limit, now: now() });
    return html(
      <List
        {...contextOf(c)}
        filter={filter}
        events={events}
        nextCursor={cursorOf(next)}
        isFirstPage={after === undefined}
        sources={names}
        types={types}
      />,
    );
  });

  pages.get('/event', async (c) => {
    const event = await eventIn(c, MAX_SHOWN + 1);
    if (event === undefined) return message(c, 404, 'There is no such event', NOT_FOUND);
    return html(<EventPage {...contextOf(c)} event={event} />);
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
    return c.redirect(`${eventPath({ source, event_id })}&changed=${resultOf(action.value.action, result)}`, 303);
  });

  pages.get('/bulk', async (c) => {
    const { action = '', ...fields } = c.req.query();
    const filter = readFilter(fields);
    if (!isAction(action) || filter.outcome === 'invalid') {
      return message(c, 400, 'This can not be understood', NOT_FOUND);
    }
    const matching = await countMatching(openOpsDatabase(c.env), action, filter.value);
    return html(<Bulk {...contextOf(c)} action={action} filter={filter.value} matching={matching} />);
  });

  pages.post('/bulk', async (c) => {
    const action = await actionIn(c);
    if (action.outcome === 'invalid') return message(c, 400, 'Nothing was changed', action.detail);
    const { action: name, filter, expected } = action.value;
    const result = await runActionNow(c, openOpsDatabase(c.env), action.value, dependencies);
    switch (result.outcome) {
      case 'changed':
        return c.redirect(listPath(filter, { changed: resultOf(name, result) }), 303);
      case 'unexpected': {
        const { matching } = result;
        const refused = `Nothing was changed: the filter matches ${counted(matching, 'event')} now, not ${expected}.`;
        const page = <Bulk {...contextOf(c)} action={name} filter={filter} matching={matching} refused={refused} />;
        return html(page, 409);
      }
    }
  });

  return pages;
}

const NOT_FOUND = 'It may have been deleted after DEDUPE_DAYS days, or the address is not complete.';

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
  const about = key ? { finished_at } : { filter: c.req.query(), expected: Number(expected) };
  return readAction(action, { reason, effects: effects === 'yes', ...about }, key);
}

/** What was done, for the page that is shown next: `retry-3-1`. */
function resultOf(action: ActionName, result: ActionResult | undefined): string {
  return result?.outcome === 'changed' ? `${action}-${result.events}-${result.effects}` : `${action}-0-0`;
}

const DONE: Readonly<Record<ActionName, string>> = { retry: 'Retried', discard: 'Discarded', rerun: 'Running again:' };

/** A sentence about what was done. The address can't put any other words on the page. */
function noticeOf(changed: string | undefined): string | undefined {
  const [, action = '', events = '', effects = ''] = /^([a-z]+)-(\d{1,9})-(\d{1,9})$/.exec(changed ?? '') ?? [];
  if (!isAction(action)) return undefined;
  if (Number(events) + Number(effects) === 0) return 'Nothing was changed: it is in another state by now.';
  const and = Number(effects) > 0 ? ` and ${counted(Number(effects), 'effect')}` : '';
  return `${DONE[action]} ${counted(Number(events), 'event')}${and}.`;
}
