import { type Context, Hono } from 'hono';
import { loadDetails } from '../db/details.ts';
import { listEvents } from '../db/list.ts';
import type { Operated } from '../db/operate.ts';
import { countMatching } from '../db/rerun.ts';
import { isStorableText } from '../queue/tickets.ts';
import { type ActionName, act, isAction, type Order } from './act.ts';
import { openConsoleDatabase } from './api.ts';
import type { ConsoleDependencies } from './dependencies.ts';
import { cursorOf, PAGE, type Read, readCursor, readFilter } from './input.ts';
import { completeOrder } from './order.ts';
import { loadOverview } from './overview.ts';
import { Bulk } from './pages/bulk.tsx';
import { EventPage } from './pages/event.tsx';
import { html } from './pages/html.ts';
import type { Visitor } from './pages/layout.tsx';
import { List } from './pages/list.tsx';
import { Message } from './pages/message.tsx';
import { Overview } from './pages/overview.tsx';
import { counted, eventPath, listPath } from './pages/parts.tsx';
import { withIdempotencyKeys } from './shown-event.ts';

export interface PageTypes {
  Bindings: ReceiverEnv;
  Variables: { visitor: Visitor };
}

/** The pages. Who may see them, and whether a form is ours, has been decided before. */
export function createPages({ sources, now, log }: ConsoleDependencies): Hono<PageTypes> {
  const pages = new Hono<PageTypes>();
  const names = Object.keys(sources);
  const types = [...new Set(Object.values(sources).flatMap((source) => source.types))].sort();
  const contextOf = (c: Context<PageTypes>) => ({ now: now(), visitor: c.get('visitor') });
  const message = (c: Context<PageTypes>, status: number, title: string, text: string) =>
    html(<Message {...contextOf(c)} title={title} text={text} />, status);
  const order = (c: Context<PageTypes>, given: Order) =>
    act(openConsoleDatabase(c.env), given, { env: c.env, who: c.get('visitor').who, now: now(), log });

  pages.get('/', async (c) => {
    const status = await loadOverview(openConsoleDatabase(c.env), names, now());
    return html(<Overview {...contextOf(c)} status={status} />);
  });

  pages.get('/events', async (c) => {
    const { cursor, changed, ...fields } = c.req.query();
    const [filter, after] = [readFilter(fields), readCursor(cursor)];
    if (filter.outcome === 'invalid') return message(c, 400, 'This filter can not be understood', filter.detail);
    if (after.outcome === 'invalid') return message(c, 400, 'This page can not be found', after.detail);
    const paging = { after: after.value, limit: PAGE, now: now() };
    const { events, next } = await listEvents(openConsoleDatabase(c.env), filter.value, paging);
    return html(
      <List
        {...contextOf(c)}
        filter={filter.value}
        events={events}
        nextCursor={cursorOf(next)}
        isFirstPage={after.value === undefined}
        sources={names}
        types={types}
        notice={noticeOf(changed)}
      />,
    );
  });

  pages.get('/event', async (c) => {
    const event = await eventIn(c, c.req.query());
    if (event === undefined) return message(c, 404, 'There is no such event', NOT_FOUND);
    const notice = noticeOf(c.req.query('changed'));
    return html(<EventPage {...contextOf(c)} event={await withIdempotencyKeys(event)} notice={notice} />);
  });

  // As text, in a sandbox: whatever it contains, a browser only shows it.
  pages.get('/event/body', async (c) => {
    const event = await eventIn(c, c.req.query());
    if (event?.body == null) return message(c, 404, 'There is no such body', NOT_FOUND);
    c.header('content-security-policy', "default-src 'none'; sandbox; frame-ancestors 'none'");
    return c.text(event.body);
  });

  pages.post('/event', async (c) => {
    const form = await formIn(c);
    const { source = '', event_id = '' } = c.req.query();
    const given = orderIn(form, { outcome: 'read', value: { source, eventId: event_id } });
    if (given.outcome === 'invalid') return message(c, 400, 'Nothing was changed', given.detail);
    const operated = isStorableText(source + event_id) ? await order(c, given.value) : undefined;
    return c.redirect(`${eventPath({ source, event_id })}&changed=${resultOf(given.value.action, operated)}`, 303);
  });

  pages.get('/bulk', async (c) => {
    const { action = '', ...fields } = c.req.query();
    const filter = readFilter(fields);
    if (!isAction(action) || filter.outcome === 'invalid')
      return message(c, 400, 'This can not be understood', NOT_FOUND);
    const matching = await countMatching(openConsoleDatabase(c.env), action, filter.value);
    return html(<Bulk {...contextOf(c)} action={action} filter={filter.value} matching={matching} />);
  });

  pages.post('/bulk', async (c) => {
    const form = await formIn(c);
    const given = orderIn(form, readFilter(c.req.query()), Number(form.expected));
    if (given.outcome === 'invalid') return message(c, 400, 'Nothing was changed', given.detail);
    const { filter } = given.value;
    const operated = await order(c, given.value);
    switch (operated.outcome) {
      case 'changed':
        return c.redirect(listPath(filter, { changed: resultOf(given.value.action, operated) }), 303);
      case 'unexpected': {
        const { matching } = operated;
        const refused = `Nothing was changed: the filter matches ${counted(matching, 'event')} now, and not ${form.expected} as before.`;
        return html(
          <Bulk {...contextOf(c)} action={given.value.action} filter={filter} matching={matching} refused={refused} />,
          409,
        );
      }
    }
  });

  return pages;
}

const NOT_FOUND = 'It may have been deleted after DEDUPE_DAYS days, or the address is not complete.';

function eventIn(c: Context<PageTypes>, { source = '', event_id: eventId = '' }: Record<string, string>) {
  return isStorableText(source + eventId) ? loadDetails(openConsoleDatabase(c.env), { source, eventId }) : undefined;
}

async function formIn(c: Context<PageTypes>): Promise<Record<string, string>> {
  return Object.fromEntries(new URLSearchParams(await c.req.text()));
}

function orderIn(form: Record<string, string>, filter: Read<Order['filter']>, expected?: number): Read<Order> {
  const { action = '' } = form;
  if (!isAction(action)) return { outcome: 'invalid', detail: 'There is no such action.' };
  if (filter.outcome === 'invalid') return filter;
  if (action === 'rerun' && form.understood !== 'yes') {
    return {
      outcome: 'invalid',
      detail: 'A rerun makes the changes of its events a second time: confirm that you know it.',
    };
  }
  return completeOrder(action, filter.value, { expected, reason: form.reason, effects: form.effects === 'yes' });
}

/** What was done, for the page that is shown next: `retry-3-1`. */
function resultOf(action: ActionName, operated: Operated | undefined): string {
  return operated?.outcome === 'changed' ? `${action}-${operated.events}-${operated.effects}` : `${action}-0-0`;
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
