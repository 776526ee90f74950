import { beforeEach, expect, it } from 'vitest';
import { defineSources } from '../../src/kit/index.ts';
import { github } from '../../src/providers/github.ts';
import { stripe } from '../../src/providers/stripe.ts';
import { useDatabase } from '../database.ts';
import { BEARER, startOpsWorker, TOKEN } from './start.ts';

const database = useDatabase();
const NOW = new Date('2026-03-10T12:00:00Z');
const TENANTS_KEY = 'k'.repeat(32);
const sources = defineSources({
  shops: { provider: github, types: '*', tenants: true },
  pays: { provider: stripe, types: '*', tenants: true },
});

function start(env: object = { TENANTS_KEY }) {
  const urls = { DATABASE_URL: database.stack.workerUrls.ops, OPS_TOKEN: TOKEN };
  const worker = startOpsWorker({ sources, now: NOW, env: { ...urls, ...env } });
  const ask = async (method: string, path: string, fields?: object, headers: object = {}) => {
    const body = fields && { body: JSON.stringify(fields) };
    const type = { 'content-type': 'application/json' };
    const answer = await worker.call(`/ops/api/tenants/${path}`, {
      method,
      headers: { ...BEARER, ...type, ...headers },
      ...body,
    });
    const { headers: sent, status } = answer;
    return { status, cache: sent.get('cache-control'), json: (await answer.json()) as Record<string, unknown> };
  };
  return { ...worker, ask };
}

beforeEach(() => database.sql('delete from webhooks.tenants'));

it('a derived secret is answered once, and neither logged nor cached', async () => {
  const { ask, lines } = start();
  const made = await ask('PUT', 'shops/acme');
  const { secret } = made.json;
  expect(made).toEqual({
    status: 200,
    cache: 'no-store',
    json: {
      address: expect.stringMatching(/^\/webhooks\/shops\/acme\.[0-9a-f]{32}$/),
      generation: 1,
      secret: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
  });
  const rotated = await ask('POST', 'shops/acme/rotate', {});
  expect(rotated.json.secret).not.toBe(secret);
  expect((await ask('POST', 'shops/acme/finish')).json).toEqual({ outcome: 'finished' });
  const list = JSON.stringify([(await ask('GET', 'shops')).json, lines]);
  expect(list).not.toContain(secret);
  expect(list).not.toContain(rotated.json.secret);
  expect(lines).toEqual(
    ['tenant_made', 'tenant_rotated', 'tenant_finished'].map((outcome) => ({
      step: 'operator',
      outcome,
      source: 'shops',
      tenant: 'acme',
    })),
  );
});

it('a stored secret is neither answered nor logged, also if it is refused', async () => {
  const { ask, lines } = start();
  const answers = [
    await ask('PUT', 'pays/acme', { secret: 'whsec_very-private' }),
    await ask('PUT', 'pays/other', { secret: 'very-private' }),
    await ask('PUT', 'pays/other', { secret: ['very-private'] }),
    await ask('PUT', 'pays/other', { secrets: 'very-private' }),
    await ask('PUT', 'pays/other'),
  ];
  expect(answers.map(({ status, json }) => [status, json.secret ?? json.detail])).toEqual([
    [200, undefined],
    [400, 'secret is not in the form that this provider gives out'],
    [400, 'secret is a text'],
    [400, 'there is no field "secrets": secret'],
    [400, 'secret is missing: the senders of this source make their secrets themselves'],
  ]);
  expect(answers[0]?.json.secret).toBe(null);
  expect(JSON.stringify([answers, lines])).not.toContain('very-private');
});

it('who is disabled or marked is made again only when its events are erased', async () => {
  const { ask } = start();
  await ask('PUT', 'shops/acme');
  expect((await ask('DELETE', 'shops/acme')).json).toEqual({ outcome: 'disabled' });
  expect((await ask('PUT', 'shops/acme')).json).toMatchObject({ generation: 2 });
  expect((await ask('POST', 'shops/acme/erase')).json).toEqual({ outcome: 'marked' });
  expect(await ask('PUT', 'shops/acme')).toMatchObject({
    status: 409,
    json: { detail: 'the events of a tenant with this name are still being erased' },
  });
  expect((await ask('GET', 'shops')).json).toMatchObject({
    tenants: [{ tenant: 'acme', disabled_at: NOW.toISOString(), erase_asked_at: NOW.toISOString(), erased_at: null }],
  });
});

it('a list is paged by its cursor, and says which TENANTS_KEY each tenant needs', async () => {
  const before = start();
  for (const name of ['c', 'a']) await before.ask('PUT', `shops/${name}`);
  await before.ask('PUT', 'pays/stored', { secret: 'whsec_abc' });
  const { ask, lines } = start({ TENANTS_KEY: 'n'.repeat(32), TENANTS_KEY_PREVIOUS: TENANTS_KEY });
  await ask('PUT', 'shops/b');
  const names: unknown[] = [];
  let cursor: unknown = '';
  while (cursor !== null) {
    const { json } = await ask('GET', `shops?limit=1&cursor=${cursor}`);
    names.push(...(json.tenants as { tenant: string; key: string }[]).map(({ tenant, key }) => `${tenant} ${key}`));
    cursor = json.next_cursor;
  }
  expect(names).toEqual(['a previous', 'b current', 'c previous']);
  expect((await ask('POST', 'reseal')).json).toEqual({ resealed: 1, lost: 0 });
  expect(lines.at(-1)).toEqual({ step: 'operator', outcome: 'tenants_resealed', resealed: 1, lost: 0 });
  expect((await ask('GET', 'pays')).json).toMatchObject({ tenants: [{ key: 'current' }] });
});

it.each([{}, { TENANTS_KEY: '' }, { TENANTS_KEY: 'k'.repeat(31) }, { TENANTS_KEY, TENANTS_KEY_PREVIOUS: 'short' }])(
  'without a usable TENANTS_KEY there is one sentence that says what to do: %j',
  async (env) => {
    const { ask, lines } = start(env);
    const answers = [await ask('PUT', 'shops/acme'), await ask('GET', 'shops'), await ask('POST', 'reseal')];
    for (const { status, json } of answers) {
      expect([status, json.detail]).toEqual([
        503,
        "give the ops Worker the receiver's TENANTS_KEY, of 32 characters or more: npx wrangler secret put TENANTS_KEY -c wrangler.ops.toml",
      ]);
    }
    expect(lines).toEqual([]);
  },
);

it('a page of another site can neither make nor disable a tenant', async () => {
  const { ask } = start();
  await ask('PUT', 'shops/acme');
  const origin = { origin: 'https://evil.example' };
  for (const [method, path] of [
    ['PUT', 'shops/new'],
    ['DELETE', 'shops/acme'],
    ['POST', 'shops/acme/erase'],
  ] as const) {
    expect((await ask(method, path, undefined, origin)).status).toBe(403);
  }
  const list = (await ask('GET', 'shops')).json;
  expect(list).toMatchObject({ tenants: [{ tenant: 'acme', disabled_at: null }], next_cursor: null });
});
