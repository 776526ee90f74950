import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../../scripts/lib/port.ts';
import { type Checkout, makeCheckout } from '../checkout.ts';
import { event, problem, TOKEN, useFakeApi } from './fake-api.ts';
import { startOps } from './start-ops.ts';

const api = useFakeApi();

let checkout: Checkout;
beforeAll(async () => {
  checkout = await makeCheckout();
});
afterAll(() => checkout.remove());

const start = (args: string[], env: Record<string, string> = { OPS_TOKEN: TOKEN }) => startOps(checkout, args, env);
const ops = (args: string[], env?: Record<string, string>) => start([...args, '--url', api.url], env).ended;
const posts = () => api.calls.filter(({ method }) => method === 'POST');

describe('npm run ops -- status', () => {
  it('shows each source on a line, and the effects', async () => {
    const { code, out } = await ops(['status']);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^2 events and 4 effects are parked, since 1 Mar 12:00 UTC\n {2}2 events +since 1 Mar 12:00 +stripe, paid, handler, paid.ts:24 +Error: no\n\n/,
    );
    expect(out).toMatch(/\nSOURCE +LAST +PER HOUR, 24 H +SUM +PENDING +OLDEST +PARKED +P50 +P95\n/);
    expect(out).toMatch(/\nstripe .* ago +\.▁▁▂.*█ +276 +3 .* ago +2 +0\.4 s +12 s\n/);
    expect(out).toMatch(/\ngithub +- +\.{24} +0 +0 +- +0 +- +-\n/);
    expect(out).toMatch(/\neffects: 1 pending, 4 parked, 312 sent in 24 h\n$/);
  });

  it('with --json is one object', async () => {
    const { out } = await ops(['status', '--json']);
    expect(JSON.parse(out)).toMatchObject({ totals: { parked: 2 } });
    expect(out.trim()).not.toContain('\n');
  });
});

describe('npm run ops -- list', () => {
  it('shows events with their errors, and says if there are more', async () => {
    api.events = Array.from({ length: 60 }, (_, n) =>
      event(`evt_${n}`, { last_error: n === 0 ? 'TypeError: x' : null }),
    );
    const { code, out, err } = await ops(['list', '--status', 'parked']);
    expect(code).toBe(0);
    expect(out.split('\n')[1]).toMatch(/^2026-03-01 12:00:00 +stripe +evt_0 +paid +parked +1 +handler +TypeError: x$/);
    expect(out.trim().split('\n')).toHaveLength(51);
    expect(err).toBe('there are more than these 50: --all lists them\n');
  });

  it('with --all --json is one event per line, over all pages', async () => {
    api.events = Array.from({ length: 1203 }, (_, n) => event(`evt_${n}`));
    const { out, err } = await ops(['list', '--all', '--json']);
    const ids = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).event_id);
    expect(new Set(ids).size).toBe(1203);
    expect(api.calls).toHaveLength(3);
    expect(err).toBe('');
  });

  it('passes the filter on, with times that the API understands', async () => {
    await ops([
      'list',
      '--source',
      's',
      '--type',
      't',
      '--id',
      'i',
      '--failure',
      'schema',
      '--effect-status',
      'parked',
      '--since',
      '2h',
      '--until',
      '2026-03-01T12:00',
    ]);
    const query = Object.fromEntries(new URL(api.calls[0]?.path ?? '', api.url).searchParams);
    expect(query).toMatchObject({
      source: 's',
      type: 't',
      q: 'i',
      failure: 'schema',
      effect_status: 'parked',
      until: '2026-03-01T12:00:00.000Z',
      limit: '50',
    });
    const hours = (Date.now() - Date.parse(query.since ?? '')) / 3_600_000;
    expect(hours).toBeCloseTo(2, 1);
  });

  it('ends with 3 if nothing matches', async () => {
    api.events = [];
    expect(await ops(['list'])).toEqual({ code: 3, out: '', err: 'ops: nothing matches\n' });
  });

  it('ends quietly if the reader of its output has seen enough', async () => {
    api.events = Array.from({ length: 5000 }, (_, n) => event(`evt_${n}`, { last_error: 'x'.repeat(500) }));
    const { child, ended } = start(['list', '--all', '--json', '--url', api.url]);
    child.stdout?.once('data', () => child.stdout?.destroy());
    expect(await ended).toMatchObject({ code: 0, err: '' });
  });
});

describe('npm run ops -- show', () => {
  it('shows all of an event, its body as it was received', async () => {
    const { code, out } = await ops(['show', 'stripe', 'evt_1']);
    expect(code).toBe(0);
    expect(out).toMatch(/^source +stripe\nevent +evt_1\n/);
    expect(out).toMatch(/\nfailure +handler\nerror +Error: no\nthrown at +-\nfailed paths +data\.object\.id\n/);
    expect(out).toMatch(/\nreceipt +sent +1 +2026-03-01 12:00:00 +key-1 +-\n/);
    expect(out).toMatch(/\n2026-03-01 12:00:00 +token \(ada\) +retry +the handler is fixed\n/);
    expect(out).toMatch(/\n\{"amount":12345678901234567890\}\n$/);
  });

  it('finds an event whatever its id contains', async () => {
    const id = 'a/b?c=#d %';
    api.events = [event(id)];
    expect((await ops(['show', 'stripe', id])).code).toBe(0);
    expect((await ops(['retry', 'stripe', id])).code).toBe(0);
  });

  it('ends with 3 if there is no such event', async () => {
    expect(await ops(['show', 'stripe', 'none'])).toEqual({ code: 3, out: '', err: 'ops: there is no such event\n' });
  });
});

it('no text of an event can control the terminal, and --json can still be parsed', async () => {
  const hostile = 'a\u001b[2Jb\u009bc\u202ed\u2028e\rf';
  api.events = [event('evt_1', { type: hostile, last_error: hostile })];
  for (const args of [
    ['list'],
    ['show', 'stripe', 'evt_1'],
    ['list', '--json'],
    ['show', 'stripe', 'evt_1', '--json'],
  ]) {
    const { code, out } = await ops(args);
    expect(code).toBe(0);
    expect(out.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}]/u);
    if (args.includes('--json')) expect(JSON.parse(out)).toMatchObject({ type: hostile });
  }
});

describe('an action on one event', () => {
  it('is done at once, and says who did it', async () => {
    const { code, out } = await ops(['retry', 'stripe', 'evt_1', '--reason', 'fixed']);
    expect([code, out]).toEqual([0, '1 event and 0 effects will be tried again now\n']);
    expect(posts()).toMatchObject([{ path: '/ops/api/events/stripe/evt_1/retry', body: { reason: 'fixed' } }]);
    expect(posts()[0]?.headers['x-ops-actor']).toMatch(/^[\x20-\x7e]+$/);
  });

  it('ends with 3 if there is nothing to change, or no such event', async () => {
    api.events = [event('evt_1', { status: 'done' })];
    expect(await ops(['retry', 'stripe', 'evt_1'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('nothing is parked'),
    });
    expect(await ops(['retry', 'stripe', 'none'])).toMatchObject({ code: 3, err: 'ops: there is no such event\n' });
  });

  it('needs --yes if it is a rerun, because its changes are made a second time', async () => {
    expect(await ops(['rerun', 'stripe', 'evt_1'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('SECOND TIME'),
    });
    expect(posts()).toEqual([]);
    await ops(['rerun', 'stripe', 'evt_1', '--yes', '--effects']);
    expect(posts()).toMatchObject([{ body: { effects: true, finished_at: '2026-03-01T12:00:00.000Z' } }]);
  });
});

describe('an action on many events', () => {
  it('is refused without --yes if nobody can be asked, and says how many events it would change', async () => {
    expect(await ops(['retry', '--status', 'parked'])).toEqual({
      code: 2,
      out: '',
      err: 'ops: this would retry 2 events. Say --yes if you mean it\n',
    });
    expect(posts().map(({ path }) => path)).toEqual(['/ops/api/events/retry?dry_run=1']);
  });

  it('with --yes expects the number that was counted', async () => {
    const { code, out } = await ops(['discard', '--source', 'stripe', '--reason', 'not ours', '--yes', '--json']);
    expect([code, JSON.parse(out)]).toEqual([0, { events: 2, effects: 1 }]);
    const action = { filter: { source: 'stripe' }, reason: 'not ours' };
    expect(posts().map(({ body }) => body)).toEqual([action, { ...action, expected: 2 }]);
  });

  it('is not done if another number of events matches by then', async () => {
    api.instead = ({ path }) => {
      if (path.includes('dry_run')) api.events.push(event('evt_3'));
      return path.includes('dry_run') ? { json: { matching: 2, groups: [] } } : undefined;
    };
    expect(await ops(['retry', '--source', 'stripe', '--yes'])).toEqual({
      code: 1,
      out: '',
      err: 'ops: Another number matches. 3 events match now. Run the command again to see the new number\n',
    });
  });

  it('ends with 3 if nothing matches', async () => {
    api.events = [];
    expect((await ops(['retry', '--source', 'stripe', '--yes'])).code).toBe(3);
  });
});

describe('an error is one line that says what to do', () => {
  it.each([
    [['stats'], 'there is no command stats: status, list, show, retry, discard, rerun, position or unseal'],
    [['list', '--sorce', 'x'], 'there is no option --sorce'],
    [['list', '--since', 'yesterday-ish'], '--since takes 30m, 2h, 7d, today, or a time'],
    [['list', '--since', '2026-02-31T99:00'], '--since takes 30m, 2h, 7d, today, or a time'],
    [['list', '--limit', 'many'], '--limit takes a whole number'],
    [['show', 'stripe'], 'show takes a source and the id of an event'],
    [['retry'], 'say which events to retry'],
    [['retry', 'stripe'], 'retry takes a source and the id of an event'],
    [['retry', 'stripe', 'evt_1', '--type', 'paid'], 'either SOURCE ID or a filter'],
    [['discard', 'stripe', 'evt_1'], 'discard takes --reason TEXT'],
  ])('%j ends with 2', async (args, words) => {
    const { code, out, err } = await ops(args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(`ops: ${words}`);
    expect(err.trim()).not.toContain('\n');
    expect(api.calls).toEqual([]);
  });

  it.each([
    ['refuses the token', problem(401, 'no'), 'refuses this token: set OPS_TOKEN in the environment'],
    ['lets nobody in', problem(403, 'Nobody is let in', 'Set OPS_TOKEN'), 'Nobody is let in. Set OPS_TOKEN'],
    ['is a receiver', problem(404, 'There is no such source'), 'is not an ops Worker: check --url'],
    [
      'is behind Cloudflare Access',
      { status: 302, headers: { location: 'https://x' }, json: '' },
      'set CF_ACCESS_CLIENT_ID',
    ],
    [
      'is behind an Access that refuses',
      { status: 403, json: '<html>' },
      'refuses this service token: check CF_ACCESS',
    ],
    ['has another version', { json: { sources: 'many' } }, 'answers in a form that this version does not know'],
    ['is something else', { json: '<html>' }, 'answers in a form that this version does not know'],
    ['is broken', { status: 500, json: '<html>' }, 'it answered 500'],
    [
      'is without Postgres',
      problem(503, 'Postgres can not be reached', 'x\u001b[2J'),
      'Postgres can not be reached. x\\u{1b}[2J',
    ],
  ])('a Worker that %s ends it with 1', async (_, answer, words) => {
    api.instead = () => answer;
    const { code, out, err } = await ops(['status']);
    expect([code, out]).toEqual([1, '']);
    expect(err).toContain(words);
    expect(err.trim()).not.toContain('\n');
    expect(err).not.toContain(TOKEN);
  });

  it('another Worker is not mistaken for an ops Worker without the event', async () => {
    api.instead = () => problem(404, 'There is no such source');
    const { code, err } = await ops(['show', 'stripe', 'evt_1']);
    expect([code, err]).toEqual([1, expect.stringContaining('is not an ops Worker')]);
  });

  it('without an ops Worker says how to start it', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const { code, err } = await start(['status', '--url', url]).ended;
    expect([code, err]).toEqual([
      1,
      `ops: no ops Worker answers at ${url}: start it with npm run dev, or name another with --url\n`,
    ]);
  });

  it('without a command prints its usage', async () => {
    expect(await ops([])).toMatchObject({ code: 0, out: expect.stringContaining('Exit code: 0 done, 1 error') });
  });
});

describe('the token', () => {
  it('of .dev.vars is used for the local ops Worker, and asked for if there is none', async () => {
    expect(await ops(['status'], {})).toMatchObject({
      code: 1,
      err: `ops: ${api.url} asks for a token: set OPS_TOKEN in the environment\n`,
    });
    await appendFile(join(checkout.path, '.dev.vars'), `OPS_TOKEN="${TOKEN}"\n`);
    expect((await ops(['status'], {})).code).toBe(0);
  });

  it('is not sent where others could read it', async () => {
    const { code, err } = await start(['status', '--url', 'http://hooks.example.com']).ended;
    expect([code, err]).toEqual([2, expect.stringContaining('--url is not https')]);
  });

  it('of a service is sent to Cloudflare Access, both parts or none', async () => {
    const env = { OPS_TOKEN: TOKEN, CF_ACCESS_CLIENT_ID: 'the-id.access' };
    expect(await ops(['status'], env)).toMatchObject({ code: 2, err: expect.stringContaining('has two parts') });
    expect((await ops(['status'], { ...env, CF_ACCESS_CLIENT_SECRET: 'the-secret' })).code).toBe(0);
    expect(api.calls.map(({ headers }) => headers)).toMatchObject([
      { 'cf-access-client-id': 'the-id.access', 'cf-access-client-secret': 'the-secret' },
    ]);
  });
});

it('fields that a newer version has added are left as they are', async () => {
  api.instead = () => ({ json: { events: [event('evt_1', { more: [1] })], next_cursor: null, total: 1 } });
  const { code, out } = await ops(['list', '--json']);
  expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ event_id: 'evt_1', more: [1] })]);
});
