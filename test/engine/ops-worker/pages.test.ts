// What the pages say, as far as their markup shows it. browser.test.ts uses them.
import { beforeEach, expect, it } from 'vitest';
import { useDatabase } from '../database.ts';
import { BEARER, startOpsWorker, TOKEN } from './start.ts';

const database = useDatabase();
const { sql } = database;

const NOW = new Date('2026-03-10T12:00:00Z');
const start = () => {
  const worker = startOpsWorker({ now: NOW, env: { DATABASE_URL: database.stack.workerUrls.ops, OPS_TOKEN: TOKEN } });
  /** As lines of text: what is between two tags. */
  const read = async (path: string) => {
    const page = await (await worker.get(path)).text();
    return page
      .slice(page.indexOf('<main'))
      .replaceAll(/<[^>]*>/g, '\n')
      .replaceAll(/\s*\n\s*/g, '\n');
  };
  const send = async (path: string, form: Record<string, string>) => {
    const answer = await worker.call(path, { method: 'POST', headers: BEARER, body: new URLSearchParams(form) });
    return answer.headers.get('location') ?? '';
  };
  /** Confirms the question that a page asks, as it is. */
  const confirm = async (path: string) => {
    const page = await (await worker.get(path)).text();
    const [, expected = ''] = /name="expected" value="([^"]*)"/.exec(page) ?? [];
    const { pathname, searchParams } = new URL(path, 'https://ops.example.com');
    const { action = '', ...filter } = Object.fromEntries(searchParams);
    return send(`${pathname}?${new URLSearchParams(filter)}`, { action, expected });
  };
  return { ...worker, read, send, confirm };
};

/** Three events that were parked two hours ago, after twelve attempts. */
beforeEach(async () => {
  await sql('delete from webhooks.events');
  await sql(
    `insert into webhooks.events (source, event_id, type, status, received_at, due_at, finished_at, attempts, max_attempts,
       failure, last_error, position)
     select 'stripe', 'evt_' || n, 'paid', 'parked', $1::timestamptz - interval '3 h', $1, $1::timestamptz - interval '2 h',
       12, 12, 'handler', 'TypeError: no country', 'handle (src/app/handlers/paid.ts:30)' from generate_series(1, 3) n`,
    [NOW],
  );
});

const failAgain = `update webhooks.events set attempts = 4, failure = 'handler', last_error = 'SyntaxError: not JSON',
  position = 'handle (src/app/handlers/paid.ts:10)', not_before = '2026-03-10T12:00:20Z' where status = 'pending'`;

it('a search ignores spaces around an id, and says what it searches if it finds nothing', async () => {
  const { read } = start();
  expect((await read(`/ops/events?q=${encodeURIComponent('  evt_ ')}`)).match(/^evt_\d$/gm)).toHaveLength(3);
  const none = await read('/ops/events?q=cus_123');
  expect(none).toMatch(/No event id begins with\s+cus_123\n.*docs\/runbook\.md/);
  expect(none).not.toContain('There are no such events');
});

it('an address that ends with a slash leads to the console', async () => {
  expect((await start().get('/ops/')).headers.get('location')).toBe('/ops');
});

it('a bulk retry that was stopped says so, also after a reload, and is not offered to be stopped again', async () => {
  const { read, send, confirm } = start();
  const result = await confirm('/ops/bulk?action=retry');
  expect(await read(result)).toMatch(/Retried 3 events\nPending\n3\nDone\n0\nStop the 3 that have not begun/);
  const done = new URLSearchParams(result.split('?')[1]).get('done') ?? '';
  const stopped = await send('/ops/undo', { done });
  expect(stopped.startsWith(`${result}&`)).toBe(true);
  expect(await read(stopped)).toContain('Put back 3 events.');
  expect(await read(result)).toMatch(/^\n3 of 3 stopped\nStopped\n3\nDone\n0\nSee the events\nTo the overview\n$/);
  // Nothing is left to stop: that is no success.
  const again = await start().get(await send('/ops/undo', { done }));
  expect(await again.text()).toMatch(/class="banner "[^>]*>\s*Nothing was changed/);
});

it('a bulk retry says why events failed again, when they are tried next, and which are done', async () => {
  const { read, get, confirm } = start();
  const result = await confirm('/ops/bulk?action=retry');
  await sql(`update webhooks.events set status = 'done', finished_at = $1 where event_id = 'evt_1'`, [NOW]);
  await sql(failAgain);
  const page = await read(result);
  expect(page).toMatch(
    /^\n2 of 3 failed again\nFailed again\n2\nDone\n1\nSyntaxError: not JSON\nstripe\n·\npaid\n·\nhandler\n·\npaid\.ts:10\n/,
  );
  expect(page).toMatch(/2 events\nsince\s+09:00 UTC\n, next try in 20 s\nTry now…/);
  const [, list = ''] = /<a href="([^"]*status=done[^"]*)"/.exec(await (await get(result)).text()) ?? [];
  expect((await read(list.replaceAll('&amp;', '&'))).match(/^evt_\d$/gm)).toEqual(['evt_1']);
  await sql(`update webhooks.events set status = 'done', finished_at = $1`, [NOW]);
  expect(await read(result)).toMatch(/^\n3 of 3 done\nDone\n3\nSee the events\nTo the overview\n$/);
});

it('the figures of a retry of effects lead to the events with these effects', async () => {
  const { read, get, send, confirm } = start();
  await sql(`insert into webhooks.effects (source, event_id, name, kind, payload, status, failure, due_at)
    select source, event_id, 'mail', 'mail', '{}', 'parked', 'response', due_at from webhooks.events`);
  await sql(`update webhooks.events set status = 'done', completions = 1`);
  const result = await confirm('/ops/bulk?action=retry&effect_status=parked');
  const listed = async (figure: string) => {
    const page = await (await get(result)).text();
    const [, list = ''] = new RegExp(`<dt>${figure}</dt><dd><a href="([^"]*)"`).exec(page) ?? [];
    return (await read(list.replaceAll('&amp;', '&'))).match(/^evt_\d$/gm);
  };
  expect(await listed('Pending')).toHaveLength(3);
  await send('/ops/undo', { done: new URLSearchParams(result.split('?')[1]).get('done') ?? '' });
  expect(await listed('Stopped')).toHaveLength(3);
});

it('a question before an action says only what applies, and keeps the reason that was typed if it is refused', async () => {
  const { read, call } = start();
  expect(await read('/ops/bulk?action=discard')).toMatch(
    /^\nDiscard 3 events\?\nTheir handlers will not run\. The events leave the overview, and can be put back\.\n/,
  );
  expect(await read('/ops/bulk?action=discard')).not.toMatch(/never sent|Effects/);
  expect(await read('/ops/bulk?action=retry&source=other')).toMatch(/^\nNothing to do\n/);
  const body = new URLSearchParams({ action: 'discard', expected: '2-0', reason: 'a test of ours' });
  const refused = await call('/ops/bulk', { method: 'POST', headers: BEARER, body });
  expect(await refused.text()).toMatch(/Nothing was changed.*name="reason" value="a test of ours"/s);
  await sql(`insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at)
    select source, event_id, 'mail', 'mail', '{}', 'parked', due_at from webhooks.events`);
  await sql(`update webhooks.events set status = 'done', completions = 1`);
  expect(await read('/ops/bulk?action=discard')).toMatch(
    /\n3 effects will be deleted and never sent, and cannot be put back\./,
  );
  expect(await read('/ops/bulk?action=discard')).not.toContain('can be put back');
  // In the row of their source.
  expect(await read('/ops')).toMatch(/\nstripe\n(.+\n)*0\n3 effects\n/);
  await sql(`delete from webhooks.events where event_id <> 'evt_1'`);
  await sql(`insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at)
    select source, event_id, 'note', 'mail', '{}', 'parked', due_at from webhooks.events`);
  expect(await read('/ops/bulk?action=discard')).not.toContain('other');
});

it('what keeps failing can be tried together: from the overview, and from the list of it', async () => {
  const { read, get, sent, confirm } = start();
  await confirm('/ops/bulk?action=retry');
  await sql(failAgain);
  const overview = await (await get('/ops')).text();
  const [, path = ''] = /href="(\/ops\/bulk\?action=retry[^"]*)"/.exec(overview) ?? [];
  const bulk = path.replaceAll('&amp;', '&');
  expect(await read(bulk)).toMatch(/^\nTry 3 events now\?\nEach is tried at once, and all its attempts start again\./);
  expect(await read(bulk.replace('/bulk?action=retry&', '/events?'))).toMatch(/Try now what has failed/);
  sent.length = 0;
  await confirm(bulk);
  expect(sent).toHaveLength(3);
  expect(await sql(`select distinct attempts, not_before from webhooks.events`)).toEqual([
    { attempts: 0, not_before: null },
  ]);
});

it('an event still tells that it was parked, after it was retried and is done', async () => {
  const { read, send } = start();
  const path = '/ops/event?source=stripe&event_id=evt_1';
  const retried = await send(path, { action: 'retry' });
  await sql(
    `update webhooks.events set status = 'done', attempts = 1, last_error = null, failure = null, finished_at = $1
    where event_id = 'evt_1'`,
    [NOW],
  );
  expect(await read(path)).toMatch(
    /parked after 12 attempts:\s+TypeError: no country\s+2026-03-10 10:00:00 UTC(.|\n)*retried by token(.|\n)*done after 1 attempt\n2026-03-10 12:00:00/,
  );
  expect(await read(retried)).toMatch(/Retried 1 event\.\s+It is done\.\s+What else is parked\?/);
  // An effect fails later, on its own.
  await sql(
    `insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at)
     values ('stripe', 'evt_1', 'mail', 'mail', '{}', 'parked', $1)`,
    [NOW],
  );
  expect(await read(await send(path, { action: 'retry' }))).toContain('effect mail retried by token');
});

it('an event that was retried while it waited tells how often it had failed', async () => {
  const { read, send } = start();
  await sql(`update webhooks.events set status = 'pending', attempts = 4, not_before = $1, finished_at = null`, [NOW]);
  const retried = await send('/ops/event?source=stripe&event_id=evt_1', {
    action: 'retry',
    reason: 'the rates are back',
  });
  expect(await read(retried)).toMatch(
    /retried after 4 attempts \(TypeError: no country\) by token:\s+the rates are back/,
  );
});

it('a discarded event was parked when it was parked, and discarded when it was discarded', async () => {
  const { read, get, send } = start();
  const path = '/ops/event?source=stripe&event_id=evt_1';
  await send(path, { action: 'discard', reason: 'a test' });
  expect(await read(path)).toMatch(
    /parked after 12 attempts:\s+TypeError: no country\s+2026-03-10 10:00:00(.|\n)*discarded by token:\s+a test\s+2026-03-10 12:00:00/,
  );
  const list = await read('/ops/events?status=ignored');
  expect(list).toContain('\ndiscarded: a test\n');
  expect(list).not.toMatch(/no country|Run the finished again/);
  const [, done = ''] = /name="done" value="([^"]*)"/.exec(await (await get(path)).text()) ?? [];
  await send(path.replace('/event', '/undo'), { done });
  await send(path, { action: 'retry' });
  expect((await read(path)).match(/parked after .*/g)).toEqual(['parked after 12 attempts:']);
});

it('a command to copy is one word for each of its arguments, whatever the id is', async () => {
  await sql(`update webhooks.events set event_id = 'x;id $(id)' where event_id = 'evt_1'`);
  const page = await start().read(`/ops/event?${new URLSearchParams({ source: 'stripe', event_id: 'x;id $(id)' })}`);
  expect(page).toContain('npm run ops -- show stripe &#39;x;id $(id)&#39;');
});

it('an event that is done says first that an effect of it is parked, and why', async () => {
  await sql(`update webhooks.events set status = 'done', completions = 1, failure = null, last_error = null`);
  await sql(`insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at, failure, last_error)
    select source, event_id, 'mail', 'mail', '{}', 'parked', due_at, 'response', 'HttpError: HTTP 410'
    from webhooks.events`);
  expect(await start().read('/ops/event?source=stripe&event_id=evt_1')).toMatch(
    /evt_1\n1 effect parked\nthe event is done\nHttpError: HTTP 410\neffect\s+mail\n·\nresponse\n: the other side answered/,
  );
});

it('an event that has failed again is not announced as a success', async () => {
  const { read, send } = start();
  const retried = await send('/ops/event?source=stripe&event_id=evt_1', { action: 'retry' });
  expect(await read(retried)).toMatch(/Retried 1 event\.\n/);
  await sql(failAgain);
  expect(await read(retried)).toContain('Retried 1 event. It has failed again:');
});
