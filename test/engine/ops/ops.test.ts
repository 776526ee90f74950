import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Action, actOnMany, actOnOne } from '../../../scripts/ops/action.ts';
import { connect } from '../../../scripts/ops/api.ts';
import { type Checkout, makeCheckout } from '../checkout.ts';
import { event, problem, TOKEN, useFakeApi } from './fake-api.ts';
import { startOps } from './start-ops.ts';

const api = useFakeApi();

let checkout: Checkout;
beforeAll(async () => {
  checkout = await makeCheckout();
});
afterAll(() => checkout.remove());
// The next file may run in this process.
afterEach(() => vi.unstubAllEnvs());

const start = (args: string[], env: Record<string, string> = { OPS_TOKEN: TOKEN }) => startOps(checkout, args, env);
const ops = (line: string, env?: Record<string, string>) => start([...line.split(' '), '--url', api.url], env);
const posts = () => api.calls.filter(({ method }) => method === 'POST');
const changes = () => posts().filter(({ path }) => !path.includes('dry_run'));

it('the status says what is wrong in the words of the console, then each source on a line, and the effects', async () => {
  const { code, out } = await ops('status');
  expect(code).toBe(0);
  expect(out.split('\n')).toEqual([
    '2 events and 4 effects are parked, since 1 Mar 12:00 UTC',
    '  2 events  since 1 Mar 12:00  stripe, paid, handler, paid.ts:24  Error: no',
    '',
    expect.stringMatching(/^SOURCE +LAST +PER HOUR, 24 H +SUM +PENDING +OLDEST +PARKED +P50 +P95$/),
    expect.stringMatching(/^stripe .* ago +\.▁▁▂.*█ +276 +3 .* ago +2 +0\.4 s +12 s$/),
    expect.stringMatching(/^github +- +\.{24} +0 +0 +- +0 +- +-$/),
    '',
    'effects: 1 pending, 4 parked, 312 sent in 24 h',
    '',
  ]);
});

describe('a list', () => {
  it('shows events with their errors, and says if there are more', async () => {
    const failed = { last_error: 'TypeError: x', position: 'at (src/app/handlers/paid.ts:3)' };
    const discarded = { status: 'ignored', summary: 'discarded: a test' };
    api.events = Array.from({ length: 60 }, (_, n) => event(`evt_${n}`, n === 0 ? failed : n === 1 ? discarded : {}));
    const { out, err } = await ops('list');
    expect(out.split('\n')[1]).toMatch(
      /^2026-03-01 12:00:00 +stripe +evt_0 +paid +parked +1 +handler +paid\.ts:3 TypeError: x$/,
    );
    expect(out.split('\n')[2]).toMatch(/ ignored +1 +handler +discarded: a test$/);
    expect(out.trim().split('\n')).toHaveLength(51);
    expect(err).toBe('there are more than these 50: --all lists them\n');
  });

  it('with --all --json is one event per line, over all pages, and ends quietly with its reader', async () => {
    api.events = Array.from({ length: 1203 }, (_, n) => event(`evt_${n}`, { last_error: 'x'.repeat(500) }));
    const { out, err } = await ops('list --all --json');
    const ids = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).event_id);
    expect([new Set(ids).size, api.calls.length, err]).toEqual([1203, 3, '']);
    const { child, result } = checkout.run(['ops', 'list', '--all', '--json', '--url', api.url], { OPS_TOKEN: TOKEN });
    child.stdout?.once('data', () => child.stdout?.destroy());
    expect(await result).toMatchObject({ code: 0, error: '' });
  });

  it('passes the filter on, with times that the API understands', async () => {
    await ops(
      'list --source s --type t --id i --failure schema --error e --effect-status parked --since 2h --until 2026-03-01T12:00',
    );
    const { since, ...query } = Object.fromEntries(new URL(api.calls[0]?.path ?? '', api.url).searchParams);
    const texts = {
      source: 's',
      type: 't',
      q: 'i',
      failure: 'schema',
      error: 'e',
      effect_status: 'parked',
      limit: '50',
    };
    expect(query).toEqual({ ...texts, until: '2026-03-01T12:00:00.000Z' });
    expect((Date.now() - Date.parse(since ?? '')) / 3_600_000).toBeCloseTo(2, 1);
  });
});

it('one event is shown with all that is known, its body as it was received', async () => {
  const { out } = await ops('show stripe evt_1');
  expect(out).toMatch(/^source +stripe\nevent +evt_1\n/);
  expect(out).toMatch(/\nfailure +handler\nerror +Error: no\nthrown at +-\nfailed paths +data\.object\.id\n/);
  expect(out).toMatch(/\nreceipt +sent +1 +2026-03-01 12:00:00 +key-1 +-\n/);
  expect(out).toMatch(/\n2026-03-01 12:00:00 +token \(oncall\) +retry effect receipt +the handler is fixed\n/);
  expect(out).toMatch(/\n\{"amount":12345678901234567890\}\n$/);
});

it('no text of an event can control the terminal, and --json can still be parsed, with fields of a newer version', async () => {
  const hostile = 'a\u001b[2Jb\u009bc\u202ed\u2028e\rf';
  api.events = [event('evt_1', { type: hostile, last_error: hostile, more: [1] })];
  for (const line of ['list', 'show stripe evt_1', 'list --json', 'show stripe evt_1 --json']) {
    const { code, out } = await ops(line);
    expect(code).toBe(0);
    expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
    if (line.includes('--json')) expect(JSON.parse(out)).toMatchObject({ type: hostile, more: [1] });
  }
});

describe('an action', () => {
  it('on one event is done at once, and says who did it', async () => {
    const { code, out } = await ops('retry stripe evt_1 --reason fixed');
    expect([code, out]).toEqual([0, '1 event and 0 effects will be tried again now\n']);
    expect(posts()).toMatchObject([{ path: '/ops/api/events/stripe/evt_1/retry', body: { reason: 'fixed' } }]);
    expect(posts()[0]?.headers['x-ops-actor']).toMatch(/^[\x20-\x7e]+$/);
  });

  it('that makes changes a second time, or changes many events, needs --yes if nobody can be asked', async () => {
    expect(await ops('rerun stripe evt_1')).toMatchObject({ code: 2, err: expect.stringContaining('SECOND TIME') });
    const err = 'ops: this would retry 2 events. Say --yes if you mean it\n';
    expect(await ops('retry --status parked')).toEqual({ code: 2, out: '', err });
    expect(changes()).toEqual([]);
    await ops('rerun stripe evt_1 --yes --effects');
    expect(changes()).toMatchObject([{ body: { effects: true, finished_at: '2026-03-01T12:00:00.000Z' } }]);
  });

  it('a rerun of more events than run again at a time is refused before anybody confirms it', async () => {
    api.instead = ({ path }) =>
      path.includes('dry_run') ? { json: { matching: 5001, expected: '5001-', groups: [] } } : undefined;
    expect(await ops('rerun --source stripe --yes')).toMatchObject({
      code: 2,
      err: expect.stringContaining('at most 5,000 events are run again at a time: choose fewer'),
    });
    expect(changes()).toEqual([]);
  });

  it('on many expects the events that were counted', async () => {
    const { out } = await start([
      'discard',
      '--source',
      'stripe',
      '--reason',
      'not ours',
      '--yes',
      '--json',
      '--url',
      api.url,
    ]);
    expect(JSON.parse(out)).toEqual({ events: 2, effects: 1 });
    const action = { filter: { source: 'stripe' }, reason: 'not ours' };
    expect(posts().map(({ body }) => body)).toEqual([action, { ...action, expected: '2-evt_1,evt_2' }]);
    api.instead = ({ path }) => {
      if (path.includes('dry_run')) api.events.push(event('evt_3'));
      return path.includes('dry_run') ? { json: { matching: 2, expected: '2-evt_1,evt_2', groups: [] } } : undefined;
    };
    const err = 'ops: Other events match. evt_3 is one of them. Run the command again to see them\n';
    expect(await ops('retry --source stripe --yes')).toEqual({ code: 1, out: '', err });
  });

  it('asks a person at a terminal, who has seen what it is about, and does nothing without a yes', async () => {
    vi.stubEnv('OPS_TOKEN', TOKEN);
    const connected = connect(api.url);
    const action = (name: Action['name']) => ({ name, reason: undefined, effects: false, yes: false });
    const retry = (answer: string, ask = vi.fn(async () => answer)) => ({
      ask,
      acted: actOnMany(connected, { source: 'stripe' }, action('retry'), ask, () => {}),
    });
    for (const answer of ['', 'n', 'yesterday'])
      await expect(retry(answer).acted).rejects.toThrow('nothing was changed');
    const ask = vi.fn(async () => 'no');
    await expect(actOnOne(connected, ['stripe', 'evt_1'], action('rerun'), ask)).rejects.toThrow('nothing was changed');
    expect(ask).toHaveBeenCalledWith('rerun this event? THEIR CHANGES ARE MADE A SECOND TIME. [y/N] ');
    expect(changes()).toEqual([]);
    const asked = retry(' Y ');
    expect(await asked.acted).toMatchObject({ events: 2 });
    expect(asked.ask).toHaveBeenCalledWith('  2 events: stripe, handler: evt_1, evt_2\nretry 2 events? [y/N] ');
  });

  it('or a look that matches nothing ends with 3', async () => {
    api.events = [event('evt_1', { status: 'done' })];
    const err = expect.stringContaining('nothing is parked');
    expect(await ops('retry stripe evt_1')).toMatchObject({ code: 3, err });
    for (const line of ['retry stripe none', 'show stripe none']) {
      expect(await ops(line)).toEqual({ code: 3, out: '', err: 'ops: there is no such event\n' });
    }
    api.events = [];
    expect(await ops('list')).toEqual({ code: 3, out: '', err: 'ops: nothing matches\n' });
    expect((await ops('retry --source stripe --yes')).code).toBe(3);
  });
});

describe('an error is one line that says what to do', () => {
  it.each([
    ['stats', 'there is no command stats: status, list, show, retry, discard, rerun, position or unseal'],
    ['list --sorce x', 'there is no option --sorce'],
    ['list --since yesterday-ish', '--since takes 30m, 2h, 7d, today, or a time'],
    ['list --since 2026-02-31T99:00', '--since takes 30m, 2h, 7d, today, or a time'],
    ['list --source= --type=paid', '--source is empty'],
    ['list --limit many', '--limit takes a whole number'],
    ['list parked', "list doesn't take parked: npm run ops shows what it takes"],
    ['show stripe evt_1 more', 'unexpected argument more'],
    ['show stripe', 'show takes a source and the id of an event'],
    ['retry', 'say which events to retry'],
    ['retry stripe evt_1 --type paid', 'either SOURCE ID or a filter'],
    ['discard stripe evt_1', 'discard takes --reason TEXT'],
  ])('%j ends with 2', async (line, words) => {
    const { code, out, err } = await ops(line);
    expect([code, out, err]).toEqual([2, '', expect.stringMatching(/^ops: .*\n$/)]);
    expect(err).toContain(`ops: ${words}`);
    expect(api.calls).toEqual([]);
  });

  it.each([
    ['refuses the token', problem(401, 'no'), 'refuses this token: set OPS_TOKEN in the environment'],
    ['lets nobody in', problem(403, 'Nobody is let in', 'Set OPS_TOKEN'), 'Nobody is let in. Set OPS_TOKEN'],
    ['is a receiver', problem(404, 'There is no such source'), 'is not an ops Worker: check --url'],
    ['is behind Access', { status: 302, headers: { location: 'https://x' }, json: '' }, 'set CF_ACCESS_CLIENT_ID'],
    ['is refused by Access', { status: 403, json: '<html>' }, 'refuses this service token: check CF_ACCESS'],
    ['has another version', { json: { sources: 'many' } }, 'answers in a form that this version does not know'],
    ['is something else', { json: '<html>' }, 'answers in a form that this version does not know'],
    ['is broken', { status: 500, json: '<html>' }, 'it answered 500'],
    ['has no Postgres', problem(503, 'The database is away', 'x\u001b[2J'), 'The database is away. x\\u{1b}[2J'],
  ])('a Worker that %s ends it with 1', async (_, answer, words) => {
    api.instead = () => answer;
    const { code, out, err } = await ops('status');
    expect([code, out, err]).toEqual([1, '', expect.stringMatching(/^ops: .*\n$/)]);
    expect(err).toContain(words);
    expect(err).not.toContain(TOKEN);
  });

  it('another Worker is not mistaken for an ops Worker without the event, and one that is not there is to be started', async () => {
    api.instead = () => problem(404, 'There is no such source');
    expect(await ops('show stripe evt_1')).toMatchObject({
      code: 1,
      err: expect.stringContaining('is not an ops Worker'),
    });
    const url = 'http://127.0.0.1:2';
    const err = `ops: no ops Worker answers at ${url}: start it with npm run dev, or name another with --url\n`;
    expect(await start(['status', '--url', url])).toMatchObject({ code: 1, err });
  });

  it('without a command it prints its usage', async () => {
    expect(await start([])).toMatchObject({
      code: 0,
      out: expect.stringContaining('Exit code: 0 done, 1 error'),
    });
  });
});

describe('the token', () => {
  it('of .dev.vars is used for the local ops Worker, and asked for if there is none', async () => {
    const err = `ops: ${api.url} asks for a token: set OPS_TOKEN in the environment\n`;
    expect(await ops('status', {})).toMatchObject({ code: 1, err });
    await appendFile(join(checkout.path, '.dev.vars'), `OPS_TOKEN="${TOKEN}"\n`);
    expect((await ops('status', {})).code).toBe(0);
  });

  it('is not sent where others could read it, and that of a service only with both of its parts', async () => {
    const open = await start(['status', '--url', 'http://hooks.example.com']);
    expect(open).toMatchObject({ code: 2, err: expect.stringContaining('--url is not https') });
    const env = { OPS_TOKEN: TOKEN, CF_ACCESS_CLIENT_ID: 'the-id.access' };
    expect(await ops('status', env)).toMatchObject({ code: 2, err: expect.stringContaining('has two parts') });
    expect((await ops('status', { ...env, CF_ACCESS_CLIENT_SECRET: 'the-secret' })).code).toBe(0);
    const sent = { 'cf-access-client-id': 'the-id.access', 'cf-access-client-secret': 'the-secret' };
    expect(api.calls.map(({ headers }) => headers)).toMatchObject([sent]);
  });
});
