import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Matching } from '../../src/db/actions.ts';
import { claim } from '../../src/db/claim.ts';
import { defineSources } from '../../src/kit/index.ts';
import { github } from '../../src/providers/github.ts';
import { stripe } from '../../src/providers/stripe.ts';
import { sha256 } from '../../src/shared/bytes.ts';
import { openApi } from '../../workshop/ops-api.ts';
import { useDatabase } from '../database.ts';
import { sources } from '../fixture/sources.ts';
import { claimRequest } from '../new-event.ts';
import { seed } from '../seed.ts';
import { BEARER, startOpsWorker, TOKEN } from './start.ts';

const database = useDatabase();
const { sql } = database;

const NOW = new Date('2026-03-10T12:00:00Z');
const TENANTS_KEY = 'k'.repeat(32);
const withTenants = defineSources({
  ...sources,
  shops: { provider: github, types: '*', tenants: true },
  pays: { provider: stripe, types: '*', tenants: true },
});
const start = (env: object = { TENANTS_KEY }) =>
  startOpsWorker({
    sources: withTenants,
    now: NOW,
    env: { DATABASE_URL: database.stack.workerUrls.ops, OPS_TOKEN: TOKEN, ...env },
  });
const jsonOf = async <Json = unknown>(response: Response) => (await response.json()) as Json;

/** What the test reads of the OpenAPI document. */
type Paths = Record<string, Record<string, { responses: Record<string, Answer> }>>;
interface Answer {
  readonly content: Record<string, { schema: object }>;
}

/** Two parked events, one done with a parked effect, and one pending that has failed. */
beforeEach(async () => {
  await sql('delete from webhooks.events');
  await sql('delete from webhooks.tenants');
  await seed(database, { done: 1, effects: { parked: 1 } }, { at: NOW, body: '{}' });
  await seed(database, { parked: 2, pending: 1 }, { at: NOW, event: { attempts: 2, failure: 'handler' }, body: '{}' });
});

describe('the description of the API', () => {
  it('is a valid OpenAPI document, and docs/ops-api.json is it', async () => {
    expect(await new Validator().validate(openApi)).toEqual({ valid: true });
    expect(JSON.parse(readFileSync('docs/ops-api.json', 'utf8'))).toEqual(openApi);
  });

  it('is true: every operation answers what it says, and no operation is missing', async () => {
    const { call, get, post } = start();
    const closed = startOpsWorker();
    const paths: Paths = openApi.paths;
    const { components } = openApi;
    const ajv = addFormats.default(new Ajv2020({ strict: false }));
    const answered = new Set<string>();
    const check = async (method: string, path: string, response: Response) => {
      const described = paths[path]?.[method]?.responses[response.status];
      const type = response.headers.get('content-type')?.split(';')[0] ?? '';
      const schema = described?.content[type]?.schema;
      expect(schema, `${method} ${path} answered ${response.status} ${type}`).toBeDefined();
      const validate = ajv.compile({ ...schema, components });
      expect(validate(await response.json()) ? [] : validate.errors, `${method} ${path} ${response.status}`).toEqual(
        [],
      );
      answered.add(`${method} ${path} ${response.status}`);
    };
    await check('get', '/status', await get('/ops/api/status'));
    await check('get', '/events', await get('/ops/api/events?limit=2'));
    await check('get', '/events', await get('/ops/api/events?status=wrong'));
    await check('get', '/events/{source}/{event_id}', await get('/ops/api/events/stripe/done_1'));
    await check('get', '/events/{source}/{event_id}', await get('/ops/api/events/stripe/none'));
    const one = '/events/{source}/{event_id}/{action}';
    await check('post', one, await post('/ops/api/events/stripe/parked_1/retry'));
    await check('post', one, await post('/ops/api/events/stripe/parked_2/discard', { reason: 'not ours' }));
    await check('post', one, await post('/ops/api/events/stripe/parked_2/discard', {}));
    await check('post', one, await post('/ops/api/events/stripe/none/retry'));
    const many = '/events/{action}';
    await check('post', many, await post('/ops/api/events/retry?dry_run=1', { filter: {} }));
    await check('post', many, await post('/ops/api/events/retry', { filter: {}, expected: '99-0' }));
    const { expected } = await jsonOf<{ expected: string }>(
      await post('/ops/api/events/retry?dry_run=1', { filter: {} }),
    );
    await check('post', many, await post('/ops/api/events/retry', { filter: {}, expected }));
    await check('post', many, await post('/ops/api/events/rerun', { filter: { sorce: 'x' } }));
    await sql(`insert into webhooks.reconciles (source, since) values ('stripe', $1) on conflict do nothing`, [NOW]);
    await check('post', '/reconciles/{source}', await post('/ops/api/reconciles/stripe', { accept: true }));
    await check('post', '/reconciles/{source}', await post('/ops/api/reconciles/stripe', { since: 'soon' }));
    await check('post', '/pauses/{kind}', await post('/ops/api/pauses/mail', { action: 'pause' }));
    await check('post', '/pauses/{kind}', await post('/ops/api/pauses/sms', { action: 'resume' }));
    await check('get', '/status', await get('/ops/api/status'));
    const tenant = '/tenants/{source}/{tenant}';
    const at = async (method: string, source: string, name: string, action = '', body?: string) => {
      const headers = { ...BEARER, 'content-type': 'application/json' };
      const answer = await call(`/ops/api/tenants/${source}/${name}${action}`, {
        method,
        headers,
        ...(body && { body }),
      });
      await check(method.toLowerCase(), tenant + action, answer);
    };
    for (const name of ['a', 'a', 'A', 'b']) await at('PUT', 'shops', name);
    await at('PUT', 'stripe', 'a');
    for (const secret of ['whsec_a', 'x']) await at('PUT', 'pays', 'a', '', JSON.stringify({ secret }));
    for (const name of ['a', 'a', 'A', 'none']) await at('POST', 'shops', name, '/rotate');
    for (const name of ['a', 'a', 'A']) await at('POST', 'shops', name, '/finish');
    await at('POST', 'stripe', 'a', '/finish');
    for (const name of ['a', 'a', 'A']) await at('DELETE', 'shops', name);
    for (const name of ['b', 'none', 'A']) await at('POST', 'shops', name, '/erase');
    await at('PUT', 'shops', 'b');
    await check('get', '/tenants/{source}', await get('/ops/api/tenants/shops?limit=1'));
    await check('get', '/tenants/{source}', await get('/ops/api/tenants/shops?cursor=A'));
    await check('get', '/tenants/{source}', await get('/ops/api/tenants/stripe'));
    await check('post', '/tenants/reseal', await post('/ops/api/tenants/reseal'));
    await sql('delete from webhooks.pauses');
    for (const [path, methods] of Object.entries(paths)) {
      for (const method of Object.keys(methods)) {
        const address = `/ops/api${path.replaceAll(/\{(\w+)\}/g, (_, name) => (name === 'action' ? 'retry' : 'x'))}`;
        await check(method, path, await call(address, { method }));
        await check(method, path, await closed.call(address, { method }));
        if (method === 'get') continue;
        const other = { ...BEARER, origin: 'https://evil.example' };
        await check(method, path, await call(address, { method, headers: other, body: '{}' }));
        await check(method, path, await call(address, { method, headers: BEARER, body: 'x' }));
      }
    }
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).flatMap(([method, { responses }]) =>
        Object.keys(responses).map((status) => `${method} ${path} ${status}`),
      ),
    );
    // The outage has a test of its own, below.
    expect(described.filter((one) => !answered.has(one) && !one.endsWith(' 503'))).toEqual([]);
  });
});

it('the list is paged by its cursor', async () => {
  const { get } = start();
  const ids: string[] = [];
  let cursor: string | null = '';
  while (cursor !== null) {
    const response: Response = await get(`/ops/api/events?limit=3&cursor=${cursor}`);
    const page = await jsonOf<{ events: { event_id: string }[]; next_cursor: string | null }>(response);
    ids.push(...page.events.map(({ event_id }) => event_id));
    cursor = page.next_cursor;
  }
  expect(ids).toEqual(['parked_1', 'done_1', 'parked_2', 'pending_1']);
});

it('a list takes any time, and an event has its effects with the keys that their other sides got', async () => {
  const { get } = start();
  for (const [until, count] of [
    ['0001-01-01', 0],
    ['9999-12-31T23:59:59.999Z', 4],
  ] as const) {
    const page = await jsonOf<{ events: unknown[] }>(await get(`/ops/api/events?until=${until}`));
    expect([until, page.events.length]).toEqual([until, count]);
  }
  expect(await jsonOf(await get('/ops/api/events/stripe/done_1'))).toMatchObject({
    effects: [{ failure: 'response', idempotency_key: await sha256(Buffer.from('["stripe","done_1","parked"]')) }],
    effect_error: 'parked: HttpError: HTTP 410',
  });
});

it('a retry sends the tickets of the events and of the effects at once', async () => {
  const { post, sent, lines } = start();
  await post('/ops/api/events/stripe/parked_1/retry');
  await post('/ops/api/events/stripe/done_1/retry');
  expect(sent).toMatchObject([
    { source: 'stripe', eventId: 'parked_1' },
    { source: 'stripe', eventId: 'done_1', name: 'parked' },
  ]);
  expect(lines[0]).toEqual({ step: 'operator', outcome: 'retry', events: 1, effects: 0, tickets: 'sent' });
});

it('a retry of thousands of events happens only with what a dry run has answered, and sends all their tickets', async () => {
  await seed(database, { parked: 2500 }, { at: NOW, event: { source: 'github' } });
  const { post, sent } = start();
  const filter = { source: 'github' };
  const dryRun = await jsonOf<Matching>(await post('/ops/api/events/retry?dry_run=1', { filter }));
  const { expected, matching, groups } = dryRun;
  expect([matching, groups[0]?.event_ids.length]).toEqual([2500, 5]);
  const others = await post('/ops/api/events/retry', { filter, expected: `9${expected}`.slice(0, -1) });
  const unseen = await post('/ops/api/events/retry', { filter });
  expect([others.status, unseen.status, sent]).toEqual([409, 400, []]);
  const answer = await post('/ops/api/events/retry', { filter, expected });
  expect(await jsonOf(answer)).toEqual({ events: 2500, effects: 0 });
  expect(new Set(sent.map((ticket) => JSON.stringify(ticket))).size).toBe(2500);
});

it('a discard sends no ticket, a rerun one, and each is recorded with the name that the command gives', async () => {
  const { call, get, sent } = start();
  const act = async (id: string, action: string, body: object) => {
    const headers = {
      ...BEARER,
      'content-type': 'application/json',
      'x-ops-actor': `b\u00adob\u00a0${'x'.repeat(200)}`,
    };
    await call(`/ops/api/events/stripe/${id}/${action}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return jsonOf<{ actions: { who: string }[] }>(await get(`/ops/api/events/stripe/${id}`));
  };
  const who = `token (b ob\u00a0${'x'.repeat(75)})`;
  const discarded = await act('parked_1', 'discard', { reason: 'sent by mistake' });
  expect([discarded, sent]).toMatchObject([{ status: 'ignored', actions: [{ who }] }, []]);
  const { finished_at } = await jsonOf<{ finished_at: string }>(await get('/ops/api/events/stripe/done_1'));
  const again = await act('done_1', 'rerun', { effects: true, finished_at });
  expect([again, sent]).toMatchObject([
    { status: 'pending', effects: [], actions: [{ who }] },
    [{ eventId: 'done_1' }],
  ]);
});

it('every event id can be addressed, and a key that cannot be stored is that of no event', async () => {
  const { get, post } = start();
  for (const path of ['a%00/evt_1', 'stripe/a%00']) {
    const statuses = [await get(`/ops/api/events/${path}`), await post(`/ops/api/events/${path}/retry`)];
    expect([path, ...statuses.map(({ status }) => status)]).toEqual([path, 404, 404]);
  }
  // Browsers and URL parsers resolve these two themselves, however they are written.
  const id = fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
    .filter((text) => !/^\.\.?$|\p{Cc}/u.test(text));
  await fc.assert(
    fc.asyncProperty(id, async (eventId) => {
      await claim(database.receiver, claimRequest([eventId], { source: 'stripe', receivedAt: NOW }));
      const response = await get(`/ops/api/events/stripe/${encodeURIComponent(eventId)}`);
      expect(await jsonOf(response)).toMatchObject({ event_id: eventId });
    }),
    { numRuns: 50, examples: [['a/b'], ['a%2Fb'], ['%'], ['?x=1#y'], ['+ &'], ['retry'], ['%25'], ['\u202eabc']] },
  );
});

it('while Postgres is down the API says so with 503, and works again afterwards', async () => {
  const { get, post } = start();
  database.stack.neon.fault = () => ({ kind: 'refused' });
  for (const response of [await get('/ops/api/status'), await post('/ops/api/events/stripe/parked_1/retry')]) {
    expect(response.status).toBe(503);
    expect(response.headers.get('content-type')).toBe('application/problem+json');
    expect(response.headers.get('retry-after')).toBe('5');
  }
  const page = await get('/ops/events?status=parked&q=a');
  expect(await page.text()).toMatch(/<a [^>]*href="\/ops\/events\?status=parked&amp;q=a"[^>]*>\s*Try again/);
  database.stack.neon.fault = undefined;
  expect((await get('/ops/api/status')).status).toBe(200);
});
