// `npm run ops` as a script calls it, without a terminal. The ops Worker that answers runs in this process.
import { appendFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { listen } from '../../cli/lib/port.ts';
import { type Action, actOnMany, actOnOne } from '../../cli/ops/action.ts';
import { connect } from '../../cli/ops/api.ts';
import { defineSources } from '../../src/kit/index.ts';
import { github } from '../../src/providers/github.ts';
import { stripe } from '../../src/providers/stripe.ts';
import { seal } from '../../src/receiver/secrets.ts';
import { problem } from '../../src/shared/problem.ts';
import { type Checkout, makeCheckout, runIn } from '../checkout.ts';
import { useDatabase } from '../database.ts';
import { sources as fixtureSources } from '../fixture/sources.ts';
import { startOpsWorker, TOKEN } from '../ops-worker/start.ts';
import { APP } from '../orders-app.ts';
import { seed } from '../seed.ts';

const database = useDatabase();
const { sql } = database;
const NOW = new Date('2026-03-01T12:00:00Z');

interface Call {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
}

const sources = defineSources({
  ...fixtureSources,
  shops: { provider: github, types: '*', tenants: true },
  pays: { provider: stripe, types: '*', tenants: true },
});
let env: Record<string, unknown>;
const real = ({ path, method, headers, body }: Call) => {
  const bindings = { DATABASE_URL: database.stack.workerUrls.ops, OPS_TOKEN: TOKEN, ...env };
  const worker = startOpsWorker({ sources, env: bindings, now: NOW });
  return worker.call(path, { method, headers, ...(body === '' ? {} : { body }) }, url);
};
let url = '';
let calls: Call[] = [];
let answer: (call: Call) => Response | Promise<Response> = real;
const server = createServer(async (request, response) => {
  const { method = '', url: path = '', headers } = request;
  const call = { method, path, headers: headers as Record<string, string>, body: await text(request) };
  calls.push(call);
  const {
    status,
    headers: sent,
    ...rest
  } = await Promise.resolve(answer(call)).then(async (one) => ({
    status: one.status,
    headers: Object.fromEntries(one.headers),
    body: await one.text(),
  }));
  response.writeHead(status, sent).end(rest.body);
});

let checkout: Checkout;
beforeAll(async () => {
  url = `http://127.0.0.1:${await listen(server, 0)}`;
  checkout = await makeCheckout();
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await checkout.remove();
});

/** Two parked events, and an older one that is done, with an effect that is sent and one that is parked. */
beforeEach(async () => {
  calls = [];
  answer = real;
  env = { TENANTS_KEY: 'k'.repeat(32) };
  await sql('delete from webhooks.events');
  const parked = { max_attempts: 12, position: 'handle (src/handlers/paid.ts:24)', failed_paths: ['data.id'] };
  await seed(database, { parked: 2 }, { at: NOW, event: parked, body: '{"amount":12345678901234567890}' });
  const done = { type: 'sent', received_at: '2026-03-01T10:00:00Z' };
  await seed(database, { done: 1, effects: { sent: 1, parked: 1 } }, { at: NOW, event: done, body: '{}' });
  await sql("delete from webhooks.bodies where event_id = 'parked_2'");
});
/** More events, of another source. */
const more = (count: number, event = {}) =>
  seed(database, { parked: count }, { at: NOW, event: { source: 'github', ...event } });
// The next file may run in this process.
afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

const start = async (args: string[], env: Record<string, string> = { OPS_TOKEN: TOKEN }) => {
  const unset = { OPS_TOKEN: '', CF_ACCESS_CLIENT_ID: '', CF_ACCESS_CLIENT_SECRET: '' };
  const { code, out, error: err } = await checkout.call(['ops', ...args], { ...unset, ...env });
  return { code, out, err };
};
const ops = (line: string, env?: Record<string, string>) => start([...line.split(' '), '--url', url], env);
const posts = () =>
  calls.flatMap(({ method, path, body }) =>
    method === 'POST' ? [{ path: path.replace('/ops/api/events/', ''), body: JSON.parse(body) }] : [],
  );
const changes = () => posts().filter(({ path }) => !path.includes('dry_run'));

it('the status says what is wrong, then each source on a line, and the effects', async () => {
  const { code, out } = await ops('status');
  const [headline, problem] = out.split('\n');
  expect([code, headline]).toEqual([0, expect.stringContaining('2 events and 1 effect are parked')]);
  expect(problem).toMatch(/^2 events .* stripe, paid, handler, paid\.ts:24 {2}Error: no$/);
  expect(out).toMatch(/^stripe: 3 in 24 h, .* 0 pending, 2 parked/m);
  expect(out).toMatch(/^effects: 1 sent .* 1 parked$/m);
});

describe('a list', () => {
  it('shows events with their errors, and says if there are more', async () => {
    const { out } = await ops('list');
    const [first] = out.split('\n');
    expect(first).toBe(
      '2026-03-01T11:00:00Z  stripe  parked_1  paid  parked  attempts 1  handler  paid.ts:24  Error: no',
    );
    expect(out).toMatch(/ {2}done_1 {2}sent {2}done, 1 effect parked {2}attempts 1 {2}parked: HttpError: HTTP 410\n$/);
    const limited = await ops('list --limit 2');
    expect(limited.out.trim().split('\n')).toHaveLength(2);
    expect(limited.err).toBe('there are more than these 2: --all lists them\n');
  });

  it('with --all --json is one event per line, over all pages, and ends quietly with its reader', async () => {
    await more(1200, { last_error: 'x'.repeat(500) });
    const { out, err } = await ops('list --all --json');
    const ids = out.trim().split('\n');
    expect([new Set(ids).size, calls.length, err]).toEqual([1203, 3, '']);
    const { child, result } = checkout.run(['ops', 'list', '--all', '--json', '--url', url], { OPS_TOKEN: TOKEN });
    child.stdout?.once('data', () => child.stdout?.destroy());
    expect(await result).toMatchObject({ code: 0, error: '' });
  });

  it('passes the filter on, with times that the API understands', async () => {
    const options = '--source s --type t --id i --failure schema --error e --effect-status parked';
    await ops(`list ${options} --since 2h --until 2026-03-01T12:00`);
    const { since, ...query } = Object.fromEntries(new URL(calls[0]?.path ?? '', url).searchParams);
    const texts = { source: 's', type: 't', q: 'i', failure: 'schema', error: 'e', effect_status: 'parked' };
    expect(query).toEqual({ ...texts, limit: '50', until: '2026-03-01T12:00:00.000Z' });
    expect((Date.now() - Date.parse(since ?? '')) / 3_600_000).toBeCloseTo(2, 1);
  });
});

it('one event is shown with all that is known, its body as it was received', async () => {
  await ops('retry stripe parked_1 --reason fixed');
  const { out } = await ops('show stripe parked_1');
  const [, details = '', body] = /^(\{[\s\S]*?\n\})\n\n(.*)\n$/.exec(out) ?? [];
  expect(JSON.parse(details)).toMatchObject({ failure: 'handler', actions: [{ action: 'retry', reason: 'fixed' }] });
  expect(body).toBe('{"amount":12345678901234567890}');
  expect((await ops('show stripe parked_2')).out).toMatch(/\n\nthe body has been pruned\n$/);
});

it('no text of an event can control the terminal, and --json can still be parsed, with fields of a newer version', async () => {
  const hostile = 'a\u001b[2Jb\u009bc\u202ed\u2028e\rf';
  await sql('update webhooks.events set type = $1, last_error = $1', [hostile]);
  answer = async (call) => Response.json({ ...((await (await real(call)).json()) as object), more: [1] });
  for (const line of ['list', 'show stripe parked_1', 'list --limit 1 --json', 'show stripe parked_1 --json']) {
    const { code, out } = await ops(line);
    expect(code).toBe(0);
    expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
    if (line.includes('--json')) expect(JSON.parse(out)).toMatchObject({ type: hostile });
    if (line.includes('show') && line.includes('--json')) expect(JSON.parse(out)).toMatchObject({ more: [1] });
  }
});

describe('an action', () => {
  it('on one event is done at once, and says who did it', async () => {
    const { code, out } = await ops('retry stripe parked_1 --reason fixed');
    expect([code, out]).toEqual([0, '1 event and 0 effects will be tried again now\n']);
    expect(posts()).toEqual([{ path: 'stripe/parked_1/retry', body: { reason: 'fixed' } }]);
    expect(calls[0]?.headers['x-ops-actor']).toMatch(/^[\x20-\x7e]+$/);
  });

  it('that makes changes a second time, or changes many events, needs --yes if nobody can be asked', async () => {
    expect(await ops('rerun stripe done_1')).toMatchObject({ code: 2, err: expect.stringContaining('SECOND TIME') });
    const err = 'ops: this would retry 2 events. Say --yes if you mean it\n';
    expect(await ops('retry --status parked')).toEqual({ code: 2, out: '', err });
    expect(changes()).toEqual([]);
    expect((await ops('rerun stripe done_1 --yes --effects')).out).toContain(
      '1 event and 0 effects will run again now',
    );
    expect(changes()).toMatchObject([{ body: { effects: true, finished_at: NOW.toISOString() } }]);
  });

  it('a rerun of more events than run again at a time is refused before anybody confirms it', async () => {
    answer = () => Response.json({ matching: 5001, expected: '5001-', groups: [] });
    expect(await ops('rerun --source stripe --yes')).toMatchObject({
      code: 2,
      err: expect.stringContaining('at most 5,000 events are run again at a time: choose fewer'),
    });
    expect(changes()).toEqual([]);
  });

  it('on many expects the events that were counted', async () => {
    const args = ['discard', '--source', 'stripe', '--reason', 'not ours', '--yes', '--json', '--url', url];
    expect(JSON.parse((await start(args)).out)).toEqual({ events: 2, effects: 1 });
    const action = { filter: { source: 'stripe' }, reason: 'not ours' };
    const expected = expect.stringMatching(/^3-./);
    expect(posts().map(({ body }) => body)).toEqual([action, { ...action, expected }]);
    await more(2);
    answer = async (call) => {
      const answered = await real(call);
      if (call.path.includes('dry_run')) await more(1, { event_id: 'meanwhile' });
      return answered;
    };
    const why =
      'Nothing was changed. other events match now than expected: 3 in all. Run the command again to see them';
    expect(await ops('retry --source github --yes')).toEqual({ code: 1, out: '', err: `ops: ${why}\n` });
  });

  it('asks a person at a terminal, who has seen what it is about, and does nothing without a yes', async () => {
    vi.stubEnv('OPS_TOKEN', TOKEN);
    const connected = connect(url);
    const action = (name: Action['name']) => ({ name, reason: undefined, effects: false, yes: false });
    const retry = (answer: string, ask = vi.fn(async () => answer)) => ({
      ask,
      acted: actOnMany(connected, { status: 'parked' }, action('retry'), ask),
    });
    const refused = { message: 'nothing was changed', exitCode: 2 };
    for (const answer of ['', 'n', 'yesterday']) await expect(retry(answer).acted).rejects.toMatchObject(refused);
    const ask = vi.fn(async () => 'no');
    await expect(actOnOne(connected, ['stripe', 'done_1'], action('rerun'), ask)).rejects.toMatchObject(refused);
    expect(ask).toHaveBeenCalledWith('rerun this event? THEIR CHANGES ARE MADE A SECOND TIME. [y/N] ');
    expect(changes()).toEqual([]);
    const asked = retry(' Y ');
    expect(await asked.acted).toMatchObject({ events: 2 });
    expect(asked.ask).toHaveBeenCalledWith('  2 events: stripe, handler: parked_1, parked_2\nretry 2 events? [y/N] ');
  });

  it('or a look that matches nothing ends with 3', async () => {
    const err = expect.stringContaining('nothing there is parked');
    await sql('delete from webhooks.effects');
    expect(await ops('retry stripe done_1')).toMatchObject({ code: 3, err });
    for (const line of ['retry stripe none', 'show stripe none']) {
      expect(await ops(line)).toEqual({ code: 3, out: '', err: 'ops: there is no such event\n' });
    }
    expect(await ops('list --source github')).toEqual({ code: 3, out: '', err: 'ops: nothing matches\n' });
    expect((await ops('retry --source github --yes')).code).toBe(3);
  });
});

it('reconcile shows what asking the provider has shown, sets its window back, and accepts its key', async () => {
  await sql('delete from webhooks.reconciles');
  expect(await ops('reconcile stripe')).toMatchObject({
    code: 3,
    err: expect.stringContaining('stripe is not reconciled'),
  });
  expect(await ops('reconcile stripe --accept')).toMatchObject({
    code: 2,
    err: expect.stringContaining('does not reconcile this source'),
  });
  await sql(
    `insert into webhooks.reconciles (source, since, asked_at, listed, missing, found, found_since, found_at)
     values ('stripe', $1, $1, 1204, 3, 3, $1, $1)`,
    [NOW],
  );
  const { out } = await ops('reconcile stripe');
  expect(out).toMatch(
    /^stripe, reconciled: asked 1 Mar 12:00, complete until 1 Mar 12:00: 1,204 sent, 1,201 here\. 3 were missing since 1 Mar 12:00, found 1 Mar 12:00\n$/,
  );
  expect((await ops('reconcile stripe --since 2026-02-20 --accept')).out).toMatch(
    /asked at the next tick, complete until 20 Feb 00:00/,
  );
  const rows = await sql('select since, asked_at, accepted from webhooks.reconciles');
  expect(rows).toEqual([{ since: new Date('2026-02-20'), asked_at: null, accepted: true }]);
  expect((await ops('reconcile stripe --accept --json')).out).toContain('"complete_until":"2026-02-20T00:00:00.000Z"');
  expect((await ops('status')).out).toContain('stripe, reconciled: asked at the next tick');
  await sql('delete from webhooks.reconciles');
});

describe('tenants', () => {
  beforeEach(() => sql('delete from webhooks.tenants'));
  const ADDED = /^address {2}\/webhooks\/shops\/acme\.[0-9a-f]{32}\nsecret {3}([0-9a-f]{64}) \(shown only now\)\n/;

  it('are made with a secret that is shown once, rotated, disabled and erased', async () => {
    const added = await ops('tenants add shops acme');
    expect([added.code, added.out]).toEqual([0, expect.stringMatching(ADDED)]);
    const rotated = await ops('tenants rotate shops acme');
    expect(rotated.out).toMatch(ADDED);
    expect(rotated.out).toMatch(/\nboth secrets count until: npm run ops -- tenants finish shops acme\n$/);
    expect(rotated.out).not.toContain(ADDED.exec(added.out)?.[1]);
    expect((await ops('tenants list shops')).out).toMatch(
      /^acme {2}derived, current key {2}two secrets {2}\/webhooks\/shops\/acme\.\w+\n$/,
    );
    expect((await ops('tenants finish shops acme')).out).toBe('done: only its current secret counts\n');
    expect((await ops('tenants disable shops acme --yes')).out).toMatch(/^done: /);
    expect((await ops('tenants list shops')).out).toMatch(/^acme {2}disabled [^ ]+ [^ ]+( [^ ]+)?\n$/);
    expect((await ops('tenants erase shops acme --yes')).out).toMatch(/^done: it is disabled, and the consumer erases/);
    expect((await ops('tenants list shops')).out).toMatch(/ {2}being erased\n$/);
    await sql(`update webhooks.tenants set erased_at = $1`, [NOW]);
    expect((await ops('tenants list shops')).out).toMatch(/ {2}erased [^ ]/);
    await ops('tenants add shops acme');
    expect((await ops('tenants list shops')).out).toMatch(/^acme {2}derived, current key {2}\/webhooks/);
  });

  it('whose senders make the secret get it from the standard input, and no output shows it', async () => {
    const add = (secret: string) => {
      const running = runIn(checkout.path, ['ops', 'tenants', 'add', 'pays', 'acme', '--stored', '--url', url], {
        OPS_TOKEN: TOKEN,
      });
      running.child.stdin?.end(secret);
      return running.result;
    };
    expect(await add('')).toMatchObject({ code: 2, text: expect.stringContaining('and it is empty') });
    expect(await add('sk_wrong\n')).toMatchObject({
      code: 2,
      text: expect.stringMatching(/secret is not in the form/),
    });
    const added = await add(' whsec_private\n');
    expect(added).toMatchObject({ code: 0, text: expect.stringMatching(/^address {2}\/webhooks\/pays\/acme\.\w+$/) });
    expect(calls.map(({ body }) => body)).toContain('{"secret":"whsec_private"}');
    expect((await ops('tenants add pays other')).err).toContain('secret is missing');
  });

  it('are listed over all pages, with the TENANTS_KEY that each needs, and resealed', async () => {
    for (const name of ['b', 'a', 'c']) await ops(`tenants add shops ${name}`);
    const before = await ops('tenants list shops --limit 2');
    expect(before.out).toMatch(/^a {2}.*\nb {2}.*\n$/);
    expect(before.err).toBe('there are more than these 2: --all lists them\n');
    env = { TENANTS_KEY: 'n'.repeat(32), TENANTS_KEY_PREVIOUS: 'k'.repeat(32) };
    const { out } = await ops('tenants list shops --all --json');
    expect(
      out
        .trim()
        .split('\n')
        .map((one) => JSON.parse(one)),
    ).toMatchObject([
      { tenant: 'a', key: 'previous' },
      { tenant: 'b', key: 'previous' },
      { tenant: 'c', key: 'previous' },
    ]);
    expect((await ops('tenants reseal')).out).toBe('0 stored secrets sealed with the current TENANTS_KEY\n');
  });

  it('that are refused say why, in one line', async () => {
    await ops('tenants add shops acme');
    const expected = [
      [
        'tenants add shops acme',
        1,
        'The tenant was not changed. there is a tenant with this name: rotate changes its secret',
      ],
      [
        'tenants add shops A',
        2,
        'The request cannot be understood. the name of a tenant has 1 to 64 of a-z, 0-9, _ and -',
      ],
      ['tenants finish shops acme', 1, 'The tenant was not changed. there is no rotation to finish'],
      ['tenants rotate shops none', 3, 'There is no such tenant. there is no tenant with this name, or it is disabled'],
      [
        'tenants add stripe acme',
        3,
        'There is no such tenant. there is no source with this name that has tenants: true',
      ],
      ['tenants list pays', 3, 'this source has no tenants yet'],
    ] as const;
    for (const [line, code, err] of expected) expect(await ops(line)).toEqual({ code, out: '', err: `ops: ${err}\n` });
    env = {};
    expect((await ops('tenants list shops')).err).toMatch(
      /: There is no usable TENANTS_KEY\. give the ops Worker .*\n$/,
    );
  });
});

it('pause keeps a kind of effects waiting, also one of its hosts, status says so, and resume ends it', async () => {
  await sql('delete from webhooks.pauses');
  expect((await ops('pause slack')).out).toMatch(/^slack is paused since .+ by .+; 0 effects wait\n$/);
  expect((await ops('pause slack --host hooks.slack.com --json')).out).toContain('"host":"hooks.slack.com"');
  expect((await ops('status')).out).toMatch(/slack is paused since .* by .*, at hooks\.slack\.com; 0 effects wait\n/);
  expect(await ops('try slack')).toMatchObject({
    code: 2,
    err: expect.stringContaining('only an operator can resume it'),
  });
  expect((await ops('resume slack --host hooks.slack.com')).out).not.toContain('hooks.slack.com');
  expect((await ops('resume slack')).out).toBe('slack is not paused\n');
  expect((await ops('resume slack')).code).toBe(2);
  expect((await ops('pause')).err).toContain('pause takes a kind of effects');
  await sql('delete from webhooks.pauses');
});

describe('an error is one line that says what to do', () => {
  it.each([
    [
      'stats',
      'there is no command stats: status, list, show, retry, discard, rerun, reconcile, tenants, pause, resume, try, position or unseal',
    ],
    ['list --sorce x', 'there is no option --sorce'],
    ['list --since yesterday-ish', '--since takes 30m, 2h, 7d, today, or a time'],
    ['list --source= --type=paid', '--source is empty'],
    ['list --limit many', '--limit takes a whole number'],
    ['list parked', "list doesn't take parked: npm run ops shows what it takes"],
    ['show stripe parked_1 more', "show doesn't take more: npm run ops shows what it takes"],
    ['tenants', 'tenants takes list, add, rotate, finish, disable, erase or reseal'],
    ['tenants list', 'tenants list takes a source: tenants list shops'],
    ['tenants erase shops', 'tenants erase takes a source and a tenant: tenants erase shops acme'],
    ['tenants add shops acme whsec_abc', 'unexpected argument whsec_abc'],
    ['tenants erase shops acme', 'this would disable acme, and delete what its events hold. Say --yes if you mean it'],
    ['tenants disable shops acme', 'this would disable acme: its secret never counts again. Say --yes'],
    ['show stripe', 'show takes a source and the id of an event'],
    ['retry', 'say which events to retry'],
    ['retry stripe parked_1 --type paid', 'either SOURCE ID or a filter'],
    ['discard stripe parked_1', 'discard takes --reason TEXT'],
    ['reconcile', 'reconcile takes a source'],
    // Only the Worker knows which there are.
    ['list --status failed', 'The request cannot be understood. status must be one of'],
  ])('%j ends with 2', async (line, words) => {
    const { code, out, err } = await ops(line);
    expect([code, out, err]).toEqual([2, '', expect.stringMatching(/^ops: .*\n$/)]);
    expect(err).toContain(`ops: ${words}`);
    expect(calls).toHaveLength(line === 'list --status failed' ? 1 : 0);
  });

  const redirect = () => new Response(null, { status: 302, headers: { location: 'https://x' } });
  it.each<[_: string, answer: () => Response, words: string]>([
    ['lets nobody in', () => problem(403, 'Nobody is let in', 'Set OPS_TOKEN'), 'Nobody is let in. Set OPS_TOKEN'],
    ['is a receiver', () => problem(404, 'There is no such source'), 'is not an ops Worker: check --url'],
    ['is behind Access', redirect, 'set CF_ACCESS_CLIENT_ID'],
    [
      'is refused by Access',
      () => new Response('<html>', { status: 403 }),
      'refuses this service token: check CF_ACCESS',
    ],
    [
      'has another version',
      () => Response.json({ sources: 'many' }),
      'answers in a form that this version does not know',
    ],
    ['is something else', () => new Response('<html>'), 'answers in a form that this version does not know'],
    ['is broken', () => new Response('<html>', { status: 500 }), 'it answered 500'],
    ['has no Postgres', () => problem(503, 'It is away', 'x\u001b[2J'), 'It is away. x\\u{1b}[2J'],
  ])('a Worker that %s ends it with 1', async (_, instead, words) => {
    answer = instead;
    const { code, out, err } = await ops('status');
    expect([code, out, err]).toEqual([1, '', expect.stringMatching(/^ops: .*\n$/)]);
    expect(err).toContain(words);
    expect(err).not.toContain(TOKEN);
  });

  it('another Worker is not mistaken for an ops Worker without the event, and one that is not there is to be started', async () => {
    answer = () => problem(404, 'There is no such source');
    const notOps = expect.stringContaining('is not an ops Worker');
    expect(await ops('show stripe parked_1')).toMatchObject({ code: 1, err: notOps });
    // Of the environment without a name.
    await rm(join(checkout.path, 'wrangler.ops.toml'));
    expect((await start(['status', '--env='])).err).toMatch(/^ops: there is no address of an ops Worker: /);
    const away = 'http://127.0.0.1:2';
    const err = `ops: no ops Worker answers at ${away}: start it with npm run dev, or name another with --url\n`;
    expect(await start(['status', '--url', away])).toMatchObject({ code: 1, err });
  });

  it('without a command it prints its usage', async () => {
    expect(await start([])).toMatchObject({ code: 0, out: expect.stringContaining('Exit code: 0 done, 1 error') });
  });
});

it('a position is translated with the bundle of its Worker, and a sealed secret with the one that is in use', async () => {
  const throws = (worker: string) => `export default {\n  fetch() {\n    throw new Error('${worker}');\n  },\n};\n`;
  const workers = ['receiver', 'consumer', 'ops'].map((worker) => [`src/${worker}.ts`, throws(worker)]);
  const other = await makeCheckout({ ...APP, ...Object.fromEntries(workers) });
  const run = async (...args: string[]) => (await other.run(['ops', ...args], SECRET).result).text.split('\n').at(-1);
  const SECRET = { ORDERS_WEBHOOK_SECRET: 'in use' };
  const position = (worker: string) => `fetch (${worker}.js:4:11)`;
  const sealed = await seal('handed over', 'in use');
  expect(
    await Promise.all([
      run('position', position('receiver')),
      run('position', position('consumer')),
      run('position', position('ops')),
      run('position', 'nowhere'),
      run('unseal', 'orders', sealed),
      run('unseal', 'orders', `${sealed}x`),
    ]),
  ).toEqual([
    'fetch (src/receiver.ts:3:11)',
    'fetch (src/consumer.ts:3:11)',
    'fetch (src/ops.ts:3:11)',
    "ops: position takes that of a log line, such as 'handle (consumer.js:120:9)'",
    'handed over',
    'ops: the value was not encrypted with this ORDERS_WEBHOOK_SECRET, or it is not complete',
  ]);
  await other.remove();
});

describe('the token', () => {
  it('of .dev.vars is used for the local ops Worker and for no other, and asked for if there is none', async () => {
    const err = `ops: ${url} asks for a token: set OPS_TOKEN in the environment\n`;
    expect(await ops('status', {})).toMatchObject({ code: 1, err });
    const wrong = `ops: ${url} refuses this token: set OPS_TOKEN in the environment to the value of its secret OPS_TOKEN\n`;
    expect(await ops('status', { OPS_TOKEN: 'x'.repeat(40) })).toMatchObject({ code: 1, err: wrong });
    await appendFile(join(checkout.path, '.dev.vars'), `OPS_TOKEN="${TOKEN}"\n`);
    expect((await ops('status', {})).code).toBe(0);
    const fetched = vi.fn(async (_url: string, _init: RequestInit) => problem(401, 'no'));
    vi.stubGlobal('fetch', fetched);
    expect((await start(['status', '--url', 'https://ops.example.com'], {})).err).toContain('asks for a token');
    expect(fetched.mock.calls[0]?.[1].headers).not.toHaveProperty('authorization');
  });

  it('is not sent where others could read it, and that of a service only with both of its parts', async () => {
    const open = await start(['status', '--url', 'http://hooks.example.com']);
    expect(open).toMatchObject({ code: 2, err: expect.stringContaining('--url is not https') });
    const env = { OPS_TOKEN: TOKEN, CF_ACCESS_CLIENT_ID: 'the-id.access' };
    expect(await ops('status', env)).toMatchObject({ code: 2, err: expect.stringContaining('has two parts') });
    expect((await ops('status', { ...env, CF_ACCESS_CLIENT_SECRET: 'the-secret' })).code).toBe(0);
    const sent = { 'cf-access-client-id': 'the-id.access', 'cf-access-client-secret': 'the-secret' };
    expect(calls.map(({ headers }) => headers)).toMatchObject([sent]);
  });
});
