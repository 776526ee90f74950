import { sql } from 'drizzle-orm';
import { beforeEach, describe, expect, it } from 'vitest';
import { openDatabase, run } from '../../src/db/client.ts';
import { findTenant } from '../../src/db/tenants.ts';
import { defineSources } from '../../src/kit/index.ts';
import { github } from '../../src/providers/github.ts';
import { stripe } from '../../src/providers/stripe.ts';
import { secretOf, type TenantKeys, tenantKeysFrom } from '../../src/shared/tenants.ts';
import { createTenants, type TenantSecretMade } from '../../src/tenants/index.ts';
import { useDatabase } from '../database.ts';

const database = useDatabase();
const KEY = 'k'.repeat(32);
const NEW = 'n'.repeat(32);
const sources = defineSources({
  code: { provider: github, types: '*', tenants: true },
  pay: { provider: stripe, types: '*', tenants: true, url: 'https://hooks.example.com/webhooks/pay' },
  plain: { provider: github, types: '*' },
});

/** With the role of the ops Worker: a missing right fails the test. */
const tenantsWith = (tenantsKey: string | undefined = KEY, tenantsKeyPrevious?: string) =>
  createTenants({ sources, databaseUrl: database.stack.workerUrls.ops ?? '', tenantsKey, tenantsKeyPrevious });

/** What counts for the receiver now: the current secret, and the one before while a rotation isn't finished. */
async function secretsOf(source: string, tenant: string, key = KEY, previous?: string) {
  const id = { source, tenant };
  const row = await findTenant(database.receiver, id);
  const keys = (await tenantKeysFrom(key, previous)) as TenantKeys;
  if (row === undefined) return undefined;
  const current = await secretOf(keys, id, 'sealed', row);
  const { previousGeneration: generation, previousKeyId: keyId, sealedPrevious: sealed } = row;
  const before = generation !== null && keyId !== null && { generation, keyId, sealed };
  return [current, before ? await secretOf(keys, id, 'sealed_previous', before) : null];
}

const made = (result: { outcome: string }) => {
  expect(['made', 'rotated']).toContain(result.outcome);
  return result as TenantSecretMade;
};
const refused = (reason: string) => ({ outcome: 'refused', reason });

beforeEach(() => database.sql('delete from webhooks.tenants'));

describe('a tenant', () => {
  it('is made with a secret that only this answer shows', async () => {
    const tenants = tenantsWith();
    const first = made(await tenants.put('code', 'acme'));
    expect(first.address).toMatch(/^\/webhooks\/code\/acme\.[0-9a-f]{32}$/);
    expect(await secretsOf('code', 'acme')).toEqual([first.secret, null]);
    expect(await tenants.put('code', 'acme')).toEqual(refused('exists'));
    expect(await tenants.address('code', 'acme')).toEqual({ outcome: 'made', address: first.address });
  });

  it('is made with the secret of its sender, which no answer shows', async () => {
    const tenants = tenantsWith();
    const first = made(await tenants.put('pay', 'acme', { secret: ' whsec_abc\n' }));
    expect(first).toMatchObject({ secret: undefined, generation: 1 });
    expect(first.address).toMatch(/^https:\/\/hooks\.example\.com\/webhooks\/pay\/acme\./);
    expect(await secretsOf('pay', 'acme')).toEqual(['whsec_abc', null]);
    expect(JSON.stringify(await database.sql('select * from webhooks.tenants'))).not.toContain('abc');
  });

  it.each([
    ['unknown', 'acme', undefined, 'no_such_source'],
    ['plain', 'acme', undefined, 'no_such_source'],
    ['toString', 'acme', undefined, 'no_such_source'],
    ['code', 'a:b', undefined, 'bad_name'],
    ['pay', 'acme', undefined, 'secret_needed'],
    ['pay', 'acme', 'sk_live_abc', 'secret_malformed'],
    ['code', 'acme', '', 'secret_malformed'],
  ])('at %s named %s with the secret %s is refused: %s', async (source, tenant, secret, reason) => {
    const options = secret === undefined ? {} : { secret };
    expect(await tenantsWith().put(source, tenant, options)).toEqual(refused(reason));
  });

  it('needs a name that Postgres accepts, whoever writes it', async () => {
    const insert = database.sql(
      `insert into webhooks.tenants (source, tenant, key_id, created_at) values ('code', 'a:b', 'x', now())`,
    );
    await expect(insert).rejects.toThrow('tenant_name');
  });

  it('that is made again has another secret', async () => {
    const tenants = tenantsWith();
    const first = made(await tenants.put('code', 'acme'));
    expect(await tenants.disable('code', 'acme')).toEqual({ outcome: 'disabled' });
    expect(await tenants.disable('code', 'acme')).toEqual(refused('no_such_tenant'));
    expect(await tenants.rotate('code', 'acme')).toEqual(refused('no_such_tenant'));
    const again = made(await tenants.put('code', 'acme'));
    expect(again).toMatchObject({ address: first.address, generation: 2 });
    expect(again.secret).not.toBe(first.secret);
    expect(await secretsOf('code', 'acme')).toEqual([again.secret, null]);
  });

  it('keeps no stored secret once it is disabled', async () => {
    const tenants = tenantsWith();
    await tenants.put('pay', 'acme', { secret: 'whsec_one' });
    await tenants.rotate('pay', 'acme', { secret: 'whsec_two' });
    await tenants.disable('pay', 'acme');
    const [row] = await database.sql('select sealed, sealed_previous, previous_generation from webhooks.tenants');
    expect(row).toEqual({ sealed: null, sealed_previous: null, previous_generation: null });
  });

  it('is not made again before its events are erased', async () => {
    const tenants = tenantsWith();
    await tenants.put('code', 'acme');
    expect(await tenants.erase('code', 'nobody')).toEqual(refused('no_such_tenant'));
    expect(await tenants.erase('code', 'acme')).toEqual({ outcome: 'marked' });
    expect(await tenants.put('code', 'acme')).toEqual(refused('being_erased'));
    await database.sql('update webhooks.tenants set erased_at = now()');
    expect(made(await tenants.put('code', 'acme')).generation).toBe(2);
  });
});

describe('a rotation', () => {
  it('counts both secrets until it is finished', async () => {
    const tenants = tenantsWith();
    const first = made(await tenants.put('code', 'acme'));
    expect(await tenants.finish('code', 'acme')).toEqual(refused('not_rotating'));
    const second = made(await tenants.rotate('code', 'acme'));
    expect(second.address).toBe(first.address);
    expect(await secretsOf('code', 'acme')).toEqual([second.secret, first.secret]);
    expect(await tenants.rotate('code', 'acme')).toEqual(refused('not_finished'));
    expect(await tenants.finish('code', 'acme')).toEqual({ outcome: 'finished' });
    expect(await secretsOf('code', 'acme')).toEqual([second.secret, null]);
  });

  it('leads from a derived secret to a stored one, and on to another', async () => {
    const tenants = tenantsWith();
    const first = made(await tenants.put('code', 'acme'));
    await tenants.rotate('code', 'acme', { secret: 'theirs' });
    expect(await secretsOf('code', 'acme')).toEqual(['theirs', first.secret]);
    await tenants.finish('code', 'acme');
    await tenants.rotate('code', 'acme', { secret: 'theirs too' });
    expect(await secretsOf('code', 'acme')).toEqual(['theirs too', 'theirs']);
  });

  it('that two people begin at once happens once', async () => {
    const tenants = tenantsWith();
    await tenants.put('code', 'acme');
    const outcomes = await Promise.all([1, 2, 3].map(() => tenants.rotate('code', 'acme')));
    expect(outcomes.filter(({ outcome }) => outcome === 'rotated')).toHaveLength(1);
  });
});

describe('another TENANTS_KEY', () => {
  it.each([undefined, '', 'k'.repeat(31)])('that is %j is refused at once', (key) => {
    expect(() => createTenants({ sources, databaseUrl: '', tenantsKey: key })).toThrow('at least 32 characters');
    expect(() => tenantsWith(KEY, key ?? '')).toThrow('at least 32 characters');
  });

  it('reads with the previous one, and seals stored secrets again', async () => {
    const old = tenantsWith();
    const derived = made(await old.put('code', 'acme'));
    await old.put('pay', 'acme', { secret: 'whsec_one' });
    await old.rotate('pay', 'acme', { secret: 'whsec_two' });
    await old.put('pay', 'globex', { secret: 'whsec_three' });

    const both = tenantsWith(NEW, KEY);
    const keysListed = async (source: string) => {
      const listed = await both.list(source);
      return listed.outcome === 'listed' && listed.tenants.map(({ tenant, key }) => [tenant, key]);
    };
    const all = [
      ['acme', 'previous'],
      ['globex', 'previous'],
    ];
    expect(await keysListed('pay')).toEqual(all);
    expect(await both.reseal()).toEqual({ resealed: 2, lost: 0 });
    expect(await keysListed('pay')).toEqual(all.map(([tenant]) => [tenant, 'current']));
    expect(await secretsOf('pay', 'acme', NEW)).toEqual(['whsec_two', 'whsec_one']);
    expect(await both.reseal()).toEqual({ resealed: 0, lost: 0 });

    // A derived secret ends with its key. A rotation makes one of the new key.
    expect(await keysListed('code')).toEqual([['acme', 'previous']]);
    const next = made(await both.rotate('code', 'acme'));
    expect(next.address).not.toBe(derived.address);
    expect(await secretsOf('code', 'acme', NEW, KEY)).toEqual([next.secret, derived.secret]);
    expect(await secretsOf('code', 'acme', NEW)).toEqual([next.secret, undefined]);
  });

  it('without the previous one loses what was sealed, and a rotation replaces it', async () => {
    await tenantsWith().put('pay', 'acme', { secret: 'whsec_one' });
    const later = tenantsWith(NEW);
    expect(await later.reseal()).toEqual({ resealed: 0, lost: 1 });
    expect(await later.list('pay')).toMatchObject({ tenants: [{ key: 'unknown', secret: 'stored' }] });
    await later.rotate('pay', 'acme', { secret: 'whsec_two' });
    expect(await secretsOf('pay', 'acme', NEW)).toEqual(['whsec_two', null]);
  });

  it('refuses a value that was moved from one tenant to another', async () => {
    const tenants = tenantsWith();
    await tenants.put('pay', 'acme', { secret: 'whsec_one' });
    await tenants.put('pay', 'evil', { secret: 'whsec_two' });
    await database.sql(
      `update webhooks.tenants set sealed = (select sealed from webhooks.tenants where tenant = 'evil')`,
    );
    expect(await secretsOf('pay', 'acme')).toEqual([undefined, null]);
    expect(await secretsOf('pay', 'evil')).toEqual(['whsec_two', null]);
  });
});

it('lists the tenants of one source, page by page', async () => {
  const tenants = tenantsWith();
  for (const name of ['c', 'a', 'b']) await tenants.put('code', name);
  await tenants.put('pay', 'd', { secret: 'whsec_one' });
  const first = await tenants.list('code', { limit: 2 });
  expect(first).toMatchObject({ tenants: [{ tenant: 'a', secret: 'derived' }, { tenant: 'b' }], next: 'b' });
  expect(await tenants.list('code', { limit: 2, after: 'b' })).toMatchObject({
    tenants: [{ tenant: 'c' }],
    next: undefined,
  });
  expect(await tenants.list('plain')).toEqual(refused('no_such_source'));
});

it('a role for your own back end can do all of this, and nothing else in the tables of the engine', async () => {
  const role = database.role('ops').replace('ops', 'tenants');
  await database.sql(`create role ${role} login password 'of-a-back-end';
    grant usage on schema webhooks to ${role};
    grant select on webhooks.tenants to ${role};
    grant insert (source, tenant, key_id, sealed, created_at) on webhooks.tenants to ${role};
    grant update (generation, key_id, sealed, previous_generation, previous_key_id, sealed_previous, disabled_at, erase_asked_at)
      on webhooks.tenants to ${role}`);
  const url = Object.assign(new URL(database.stack.databaseUrl), { username: role, password: 'of-a-back-end' });
  const tenants = createTenants({ sources, databaseUrl: url.href, tenantsKey: KEY });
  made(await tenants.put('pay', 'acme', { secret: 'whsec_abc' }));
  made(await tenants.rotate('pay', 'acme', { secret: 'whsec_def' }));
  const done = [
    await tenants.finish('pay', 'acme'),
    await tenants.disable('pay', 'acme'),
    await tenants.put('pay', 'acme', { secret: 'whsec_abc' }),
    await tenants.list('pay'),
    await tenants.erase('pay', 'acme'),
  ];
  expect(done.map(({ outcome }) => outcome)).toEqual(['finished', 'disabled', 'made', 'listed', 'marked']);
  made(await tenants.put('pay', 'other', { secret: 'whsec_abc' }));
  const other = createTenants({ sources, databaseUrl: url.href, tenantsKey: NEW, tenantsKeyPrevious: KEY });
  expect(await other.reseal()).toEqual({ resealed: 1, lost: 0 });
  const db = openDatabase(url.href);
  for (const statement of [
    'select from webhooks.events',
    'delete from webhooks.tenants',
    'update webhooks.tenants set erased_at = now()',
  ]) {
    await expect(run(db, sql.raw(statement))).rejects.toMatchObject({ code: '42501' });
  }
});
