// What the pages say, as far as their markup shows it. browser.test.ts uses them.
import { beforeEach, expect, it } from 'vitest';
import { Filter } from '../../src/db/filter.ts';
import { stripe } from '../../src/providers/stripe.ts';
import { useDatabase } from '../database.ts';
import { seed } from '../seed.ts';
import { BEARER, startOpsWorker, TOKEN } from './start.ts';

const database = useDatabase();
const { sql } = database;

const NOW = new Date('2026-03-10T12:00:00Z');
const start = (options: Parameters<typeof startOpsWorker>[0] = {}) => {
  const env = { DATABASE_URL: database.stack.workerUrls.ops, OPS_TOKEN: TOKEN };
  const worker = startOpsWorker({ now: NOW, env, ...options });
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
  const confirm = async (path: string, more: Record<string, string> = {}) => {
    const page = await (await worker.get(path)).text();
    const [, expected = ''] = /name="expected" value="([^"]*)"/.exec(page) ?? [];
    const { pathname, searchParams } = new URL(path, 'https://ops.example.com');
    const { action = '', ...filter } = Object.fromEntries(searchParams);
    return send(`${pathname}?${new URLSearchParams(filter)}`, { action, expected, ...more });
  };
  /** Every link with a number, and every link of a problem, leads to as many events. How many links these are. */
  const expectCounts = async (path: string) => {
    const page = await (await worker.get(path)).text();
    const links = page.matchAll(
      /<a(?: class="[^"]*")? href="(\/ops\/(?:events|bulk)\?[^"]*)"(?: aria-label="([^"]*)")?[^>]*>([\d,]+|\w*Error[^<]*|[\w ]+…)</g,
    );
    let count = 0;
    for (const [, address = '', label = '', text = ''] of links) {
      const target = await (await worker.get(address.replaceAll('&amp;', '&'))).text();
      // Of equal events there are two.
      const [, wanted] = / (\d+ \w+):/.exec(label) ?? ['', Number(text) || 2];
      const shown = label ? /<h1>\D*(\d+ \w+)/.exec(target)?.[1] : target.split('<tr class').length - 1;
      expect([address, shown]).toEqual([address, wanted]);
      count++;
    }
    return count;
  };
  return { ...worker, read, send, confirm, expectCounts };
};

/** Three events that were parked two hours ago, after twelve attempts. */
const PARKED_AT = new Date('2026-03-10T10:00:00Z');
const parked = {
  attempts: 12,
  max_attempts: 12,
  last_error: 'TypeError: no country',
  position: 'handle (src/paid.ts:30)',
};
beforeEach(async () => {
  await sql('delete from webhooks.events');
  await seed(database, { parked: 3 }, { at: PARKED_AT, event: parked });
});
/** Instead: the same events with effects that are parked. */
const withEffects = async (event: object = {}) => {
  await sql('delete from webhooks.events');
  await seed(database, { parked: 3, effects: { parked: 3 } }, { at: PARKED_AT, event: { ...parked, ...event } });
};
const DONE = { status: 'done', completions: 1, failure: null, last_error: null };
const EVENT = '/ops/event?source=stripe&event_id=parked_1';

const failAgain = `update webhooks.events set attempts = 1, failure = 'handler', last_error = 'SyntaxError: not JSON',
  position = 'handle (src/paid.ts:10)', not_before = '2026-03-10T12:00:20Z' where status = 'pending'`;

it('a search ignores spaces around an id, and says what it searches if it finds nothing', async () => {
  const { read } = start();
  expect((await read(`/ops/events?q=${encodeURIComponent('  parked_ ')}`)).match(/^parked_\d$/gm)).toHaveLength(3);
  const none = await read('/ops/events?q=cus_123');
  expect(none).toMatch(/No event id begins with\s+cus_123\n.*docs\/runbook\.md/);
  expect(none).not.toContain('There are no such events');
});

it('a search that has looked at 102,000 events says how far it came, and goes on from there', async () => {
  const { get, read } = start();
  await sql(
    `insert into webhooks.events (source, event_id, type, status, received_at, due_at)
     select 'stripe', 'old_' || n, case when n in (1, 102001) then 'rare' else 'sent' end, 'done',
       $1::timestamptz - n * interval '1 s', $1 from generate_series(1, 102001) n`,
    [NOW],
  );
  const path = '/ops/events?type=rare';
  expect(await read(path)).toMatch(
    /\nold_1\n(.|\n)*\nThese are all so far: events were searched back to\s+9 Mar 07:40 UTC\./,
  );
  const [, older = ''] = /href="([^"]*)"[^>]*>Search older events</.exec(await (await get(path)).text()) ?? [];
  expect(await read(older.replaceAll('&amp;', '&'))).toMatch(/\nold_102001\n/);
  await sql('truncate webhooks.events cascade');
});

it('the console is called as its app calls it', async () => {
  const titleOf = async (page: Promise<Response>) => /<title>(.*?)<\/title>/.exec(await (await page).text())?.[1];
  expect(await titleOf(start({ name: 'acme-hooks' }).get('/ops'))).toMatch(/acme-hooks$/);
  expect(await titleOf(start().get('/ops'))).toMatch(/Claimcheck$/);
});

it('an address that ends with a slash leads to the console', async () => {
  expect((await start().get('/ops/')).headers.get('location')).toBe('/ops');
});

it('after an action on many the list of its events opens, renews itself while they wait, and says what became of each', async () => {
  const { read, get, confirm } = start();
  // This one is not retried.
  await seed(database, { pending: 1 }, { at: NOW });
  await sql(`update webhooks.events set status = 'done', completions = 1 where event_id = 'parked_1'`);
  await sql(
    `insert into webhooks.effects (source, event_id, name, kind, payload, status, failure, due_at)
    values ('stripe', 'parked_1', 'mail', 'mail', '{}', 'parked', 'response', $1)`,
    [NOW],
  );
  const list = await confirm('/ops/bulk?action=retry');
  const refresh = async () => /data-refresh="\d+" data-summary="[^"]*"/.exec(await (await get(list)).text())?.[0];
  expect((await read(list)).match(/^parked_\d$/gm)).toEqual(['parked_1', 'parked_2', 'parked_3']);
  expect(await read(list)).toMatch(/^\nRetried 2 events and 1 effect\.\n(.|\n)*\ndone\n1 effect pending\n/);
  expect(await refresh()).toBe('data-refresh="2" data-summary="3 pending"');
  await sql(failAgain);
  await sql(`update webhooks.events set status = 'done', finished_at = $1 where event_id = 'parked_2'`, [NOW]);
  await sql(`update webhooks.effects set status = 'parked'`);
  expect(await read(list)).toMatch(
    /\n1 effect parked\nthe event is\s+done\n(.|\n)*\npending\nfailed\s+1 of 12\n(.|\n)*SyntaxError: not JSON\n/,
  );
  await sql(`update webhooks.events set status = 'parked' where status = 'pending'`);
  expect(await refresh()).toBe(undefined);
});

it('what was discarded can be put back: from the list that opens after it, and from its own page', async () => {
  const { read, get, send, confirm, sent } = start();
  const list = await confirm('/ops/bulk?action=discard', { reason: 'a test' });
  expect((await read(list)).match(/^discarded: a test$/gm)).toHaveLength(3);
  await send(EVENT, { action: 'retry' });
  const [, bulk = ''] = /href="([^"]*)">Put discarded events back/.exec(await (await get(list)).text()) ?? [];
  await confirm(bulk.replaceAll('&amp;', '&'));
  expect(sent).toHaveLength(3);
  expect(await sql(`select distinct status, summary from webhooks.events`)).toEqual([
    { status: 'pending', summary: null },
  ]);
});

it('a question says what would be lost or is too much, and keeps the reason that was typed if it is refused', async () => {
  const { read, call } = start();
  expect(await read('/ops/bulk?action=discard')).toMatch(/^\nDiscard 3 events\?\n/);
  expect(await read('/ops/bulk?action=discard')).not.toContain('never sent');
  expect(await read('/ops/bulk?action=retry&source=other')).toMatch(/^\nNothing to do\n/);
  const body = new URLSearchParams({ action: 'discard', expected: '2-0', reason: 'a test of ours' });
  const refused = await call('/ops/bulk', { method: 'POST', headers: BEARER, body });
  expect(await refused.text()).toMatch(/Nothing was changed.*name="reason" value="a test of ours"/s);
  await sql('delete from webhooks.events');
  await seed(database, { done: 5001, effects: { parked: 5001 } }, { at: NOW, body: '' });
  expect(await read('/ops/bulk?action=discard')).toMatch(
    /\n5,001 effects will be deleted and never sent(.|\n)*\nand 4,996 others\n/,
  );
  expect(await read('/ops/bulk?action=rerun')).toMatch(/^\nMore than 5,000 events match\n/);
});

it('the overview says of each source whose provider is asked what that has shown, and why it could not be asked', async () => {
  const { read } = start();
  expect(await read('/ops')).not.toContain('Asked what they have sent');
  await sql(
    `insert into webhooks.reconciles (source, since, asked_at, listed, found, found_since, found_at, problem, problem_since, last_error, not_before)
     values ('stripe', $1, $1, 1204, 1, $1, $1, 'failed', $1, 'api.stripe.com answered 401', $1::timestamptz + interval '3 hours'),
            ('removed', $1, null, 0, 0, null, null, null, null, null, null)`,
    [PARKED_AT],
  );
  const page = await read('/ops');
  expect(page).toContain(
    'Asked what they have sent\nSource\nResult\nstripe\nasked 10:00, complete until 10:00: 1,204 sent, 1,204 here. ' +
      '1 was missing since 10:00, found 10:00. failed since 10:00: api.stripe.com answered 401. waits until 13:00',
  );
  expect(page).not.toContain('removed');
  await sql('delete from webhooks.reconciles');
});

it('the overview says what is paused, why, and how many effects wait, and its buttons try a call and resume', async () => {
  const { read, send } = start();
  await sql('delete from webhooks.events');
  await seed(
    database,
    { done: 3, effects: { pending: 3 } },
    { at: NOW, effect: { kind: 'slack', host: 'hooks.slack.com' } },
  );
  await sql(
    `insert into webhooks.pauses (kind, host, paused_at, paused_by, last_error, probe_at, probe_seconds, changed_at)
     values ('slack', 'hooks.slack.com', $1, null, 'hooks.slack.com answered 503', $2, 300, $1), ('mail', '', $1, 'ann', null, null, 0, $1)`,
    [new Date('2026-03-10T09:03:00Z'), new Date(NOW.getTime() + 40_000)],
  );
  const page = await read('/ops');
  expect(page).toContain('mail is paused since 09:03 by ann; 0 effects wait\nResume');
  expect(page).toContain(
    'slack is paused since 09:03: hooks.slack.com answered 503; 3 effects wait; next try in 40 s\nTry now\nResume',
  );
  expect(page).toContain('2 hosts are paused');
  const slack = { kind: 'slack', host: 'hooks.slack.com' };
  expect(await send('/ops/pauses', { ...slack, action: 'try' })).toBe('/ops');
  expect(await sql(`select probe_at from webhooks.pauses where kind = 'slack'`)).toEqual([{ probe_at: NOW }]);
  await send('/ops/pauses', { ...slack, action: 'resume' });
  await send('/ops/pauses', { kind: 'mail', host: '', action: 'resume' });
  expect(await read('/ops')).not.toContain('paused');
  // Nothing is paused any more.
  expect(await send('/ops/pauses', { ...slack, action: 'resume' })).toBe('');
  await sql('delete from webhooks.pauses');
});

it('every number of the overview and every problem leads to as many events, whatever else fails', async () => {
  const { read, expectCounts } = start();
  await sql('delete from webhooks.events');
  // Two of each source, type, failure, error and status, and effects of as many kinds. One source sends nothing any more.
  const why = `(values ('handler', 'Error: a'), ('handler', 'Error: b'), ('permanent', 'Error: a')) as why (failure, error)`;
  const each = `unnest(array['stripe', 'github']) source, unnest(array['paid', 'sent']) type,
    unnest(array['parked', 'pending']) status, ${why}, generate_series(1, 2) n`;
  await sql(
    `insert into webhooks.events (source, event_id, type, status, received_at, due_at, attempts, failure, last_error, not_before)
     select source, concat(type, status, failure, error, n), type, status, $1::timestamptz - interval '1 h', $1, 1, failure, error, $1
     from ${each} union all select 'gone', 'old', 'paid', 'parked', '2026-01-01', $1, 1, 'handler', 'Error: a', null`,
    [NOW],
  );
  // Most of stripe's events are the fastest, and a few the slowest.
  await sql(
    `insert into webhooks.events (source, event_id, type, status, received_at, due_at, finished_at)
     select source, concat('done', type, status, failure, error, n), type, 'done', $1::timestamptz - interval '1 h', $1,
       $1::timestamptz - interval '1 h' + case when source = 'github' then 5 when failure = 'permanent' then 100 else 1 end * interval '1 s'
     from ${each}`,
    [NOW],
  );
  await sql(
    `insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at, attempts, failure, last_error, not_before)
     select source, concat('done', type, status, failure, error, n), 'mail', 'mail', '{}', status, $1, 1, failure, error, $1
     from ${each} where type = 'paid'`,
    [NOW],
  );
  // 36 lists and 56 buttons of 37 problems, two numbers of everything, and five of the sources.
  expect(await expectCounts('/ops')).toBe(99);
  expect(await read('/ops')).toMatch(/\nof stripe, the slowest\n/);
  expect((await read('/ops/events?status=pending')).match(/^Try now$/gm)).toHaveLength(24);
  expect(await read('/ops/events?effect_status=pending')).toContain('Try the failed ones now…');
});

it('every link of a list keeps its filter, and so do its form and the form that answers a question', async () => {
  await withEffects({ actions: [{ at: NOW, action: 'retry' }] });
  const both = { status: 'parked', effect_status: 'parked' };
  const kept = { error: 'TypeError: no country', until: '2026-03-11T00:00:00.000Z', action_at: NOW.toISOString() };
  const rest = { source: 'stripe', type: 'paid', failure: 'handler', since: '2026-03-01T00:00:00.000Z' };
  const filter = { ...both, ...kept, ...rest };
  const ofType = (...types: string[]) => ({ provider: stripe, types });
  // A list that searches for an id has no links to questions.
  expect(Object.keys({ ...filter, q: '' }).sort()).toEqual(Object.keys(Filter.entries).sort());
  const { get } = start({ sources: { stripe: ofType('paid', 'sent'), other: ofType('refunded', 'paid') } });
  const page = await (await get(`/ops/events?${new URLSearchParams({ ...filter, limit: '2' })}`)).text();
  const linksTo = (path: string) =>
    Array.from(page.matchAll(new RegExp(`href="/ops/${path}\\?([^"]*)"`, 'g')), ([, query = '']) =>
      Object.fromEntries(new URLSearchParams(query.replaceAll('&amp;', '&'))),
    );
  const without = (name: string) => Object.fromEntries(Object.entries(filter).filter(([other]) => other !== name));
  expect(linksTo('events')).toEqual([
    ...[{}, { status: 'parked' }, { effect_status: 'parked' }, { status: 'pending' }].map((view) => ({
      ...kept,
      ...rest,
      ...view,
    })),
    ...Object.keys(kept).map(without),
    { ...filter, cursor: expect.any(String) },
  ]);
  expect(linksTo('bulk')).toEqual(['retry', 'discard'].map((action) => ({ action, ...filter })));
  const question = await (await get(`/ops/bulk?${new URLSearchParams({ action: 'retry', ...filter })}`)).text();
  const [, answer = ''] = /action="\/ops\/bulk\?([^"]*)"/.exec(question) ?? [];
  expect(Object.fromEntries(new URLSearchParams(answer.replaceAll('&amp;', '&')))).toEqual(filter);
  const fields = page.matchAll(/<input (?:type="hidden" )?name="(\w+)" value="([^"]*)"/g);
  const choices = page.matchAll(/<select name="(\w+)">(?:(?!<\/select>).)*value="([^"]*)" selected/gs);
  expect(Object.fromEntries([...fields, ...choices].map(([, name, value]) => [name, value]))).toEqual(filter);
  const types = page.matchAll(/<option value="(\w+)"><\/option>/g);
  expect(Array.from(types, ([, type]) => type)).toEqual(['paid', 'refunded', 'sent']);
});

it('an event shows the last of many actions, names up to three effects, and renews itself while one waits', async () => {
  const { get, read } = start();
  const actions = Array.from({ length: 300 }, (_, n) => ({
    at: NOW,
    who: 'oncall',
    action: 'retry',
    reason: `number ${n}`,
  }));
  await sql(`update webhooks.events set status = 'done', completions = 1, actions = $1 where event_id = 'parked_1'`, [
    JSON.stringify(actions),
  ]);
  const add = (...names: string[]) =>
    sql(
      `insert into webhooks.effects (source, event_id, name, kind, payload, status, due_at)
       select 'stripe', 'parked_1', name, 'mail', '{}', 'parked', $1 from unnest($2::text[]) name`,
      [NOW, names],
    );
  await add('a', 'b', 'c');
  const page = await read(EVENT);
  expect([/^number 299$/m.test(page), /^number 0$/m.test(page)]).toEqual([true, false]);
  expect(page).toContain('\nRetry its effect a, b, c\n');
  const refresh = async () => /data-refresh="\d+"/.exec(await (await get(EVENT)).text())?.[0];
  expect(await refresh()).toBe(undefined);
  await add('d');
  expect(await read(EVENT)).toContain('\nRetry its 4 effects\n');
  await sql(`update webhooks.effects set status = 'pending' where name = 'd'`);
  expect(await refresh()).toBe('data-refresh="2"');
});

it('what keeps failing can be tried together: from the overview, and from the list of it', async () => {
  const { read, get, sent, confirm } = start();
  await confirm('/ops/bulk?action=retry');
  await sql(failAgain);
  const overview = await (await get('/ops')).text();
  const [, path = ''] = /href="(\/ops\/bulk\?action=retry[^"]*)"/.exec(overview) ?? [];
  const bulk = path.replaceAll('&amp;', '&');
  expect(await read(bulk)).toMatch(
    /^\nTry 3 events now\?\nEach is tried now, and its attempts are counted from the start again\./,
  );
  expect(await read(bulk.replace('/bulk?action=retry&', '/events?'))).toMatch(/Try the failed ones now/);
  sent.length = 0;
  await confirm(bulk);
  expect(sent).toHaveLength(3);
  expect(await sql(`select distinct attempts, not_before from webhooks.events`)).toEqual([
    { attempts: 0, not_before: null },
  ]);
});

it('an event still tells when and why it was parked or had failed, after it was retried and is done, or was discarded', async () => {
  const { read, send } = start();
  const wasParked = 'parked after 12 attempts:\\s+TypeError: no country\\s+2026-03-10 10:00:00';
  const retried = await send(EVENT, { action: 'retry' });
  await sql(
    `update webhooks.events set status = 'done', attempts = 1, last_error = null, failure = null, finished_at = $1
    where event_id = 'parked_1'`,
    [NOW],
  );
  expect(await read(EVENT)).toMatch(
    new RegExp(`${wasParked}(.|\\n)*retried by token(.|\\n)*done after 1 attempt\\n2026-03-10 12:00:00`),
  );
  expect(await read(retried)).toMatch(/Retried 1 event\.\s+It is done\.\s+What else is parked\?/);

  const discarded = EVENT.replace('parked_1', 'parked_2');
  await send(discarded, { action: 'discard', reason: 'a test' });
  expect(await read(discarded)).toMatch(
    new RegExp(`${wasParked}(.|\\n)*discarded by token:\\s+a test\\s+2026-03-10 12:00:00`),
  );
  await send(discarded, { action: 'retry' });
  expect((await read(discarded)).match(/parked after .*/g)).toHaveLength(1);

  const waiting = EVENT.replace('parked_1', 'parked_3');
  await sql(`update webhooks.events set status = 'pending', attempts = 4, not_before = $1, finished_at = null`, [NOW]);
  expect(await read(await send(waiting, { action: 'retry', reason: 'why' }))).toMatch(
    /retried after 4 attempts \(TypeError: no country\) by token:\s+why/,
  );
});

it('a command to copy is one word for each of its arguments, whatever the id is', async () => {
  await sql(`update webhooks.events set event_id = 'x;id $(id)' where event_id = 'parked_1'`);
  const page = await start().read(`/ops/event?${new URLSearchParams({ source: 'stripe', event_id: 'x;id $(id)' })}`);
  expect(page).toContain('npm run ops -- show stripe &#39;x;id $(id)&#39;');
});

it('an event that is done says first that an effect of it is parked, and why, and who retried it', async () => {
  const { read, send } = start();
  await withEffects(DONE);
  expect(await read(EVENT)).toMatch(/parked_1\n1 effect parked\nthe event is done\nHttpError: HTTP 410\n/);
  expect(await read(await send(EVENT, { action: 'retry' }))).toContain('effect parked retried by token');
});

it('an event that has failed again is not announced as a success, and shows the values that its schema refused', async () => {
  const { read, send } = start();
  await sql(`insert into webhooks.bodies values ('stripe', 'parked_1', '{"a":{"b":"a lot"}}', '{}', $1)`, [NOW]);
  await sql(`update webhooks.events set failed_paths = '["a.b", "a.c"]'`);
  const retried = await send(EVENT, { action: 'retry' });
  expect(await read(retried)).toMatch(/Retried 1 event\.\n/);
  await sql(failAgain);
  expect(await read(retried)).toMatch(
    /\nRetried 1 event\. It has failed again:\n(.|\n)*\na\.\s+b\n&quot;a lot&quot;\na\.\s+c\nmissing from the payload\n/,
  );
});

it('the page of a tenant’s event names the tenant, and leads to its events. Other ids may have a colon as well', async () => {
  const sources = {
    shops: { provider: stripe, types: '*', tenants: true },
    stripe: { provider: stripe, types: '*' },
  } as const;
  const { get } = start({ sources });
  for (const [source, id] of [
    ['shops', 'acme:1'],
    ['shops', '1'],
    ['stripe', 'acme:1'],
  ]) {
    await seed(database, { done: 1 }, { at: NOW, event: { source, event_id: id } });
    const page = await (await get(`/ops/event?source=${source}&event_id=${id}`)).text();
    const link = page.includes('href="/ops/events?source=shops&amp;q=acme%3A"');
    expect([source, id, page.includes('Tenant'), link]).toEqual([source, id, id !== '1' && source === 'shops', link]);
    expect(link).toBe(id !== '1' && source === 'shops');
  }
  const list = await (await get('/ops/events?source=shops&q=acme%3A')).text();
  expect(list.split('<tr class').length - 1).toBe(1);
});
