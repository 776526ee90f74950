import { type Context, Hono } from 'hono';
import * as v from 'valibot';
import { Count, Time, TimeOrNull } from '../db/views.ts';
import { problem } from '../shared/problem.ts';
import { settingOf } from '../shared/settings.ts';
import { MIN_TENANTS_KEY, tenantKeysFrom } from '../shared/tenants.ts';
import { createTenants, type Tenant, type TenantRefusal, type Tenants } from '../tenants/index.ts';
import { inputIn, type OpsDependencies, type OpsTypes } from './api.ts';
import { readTenantList, readTenantSecret } from './input.ts';

// What is answered. docs/ops-api.json is made from these.
export const TenantSecret = v.strictObject({
  address: v.pipe(v.string(), v.description('Where its sender delivers. Without a url of the source it is the path')),
  generation: v.pipe(Count, v.description('Each secret of a tenant has another one')),
  secret: v.pipe(
    v.nullable(v.string()),
    v.description('Shown only now: tell it to the sender. Null if the sender has made it'),
  ),
});
export type TenantSecret = v.InferOutput<typeof TenantSecret>;

export const ListedTenant = v.strictObject({
  tenant: v.string(),
  address: v.string(),
  generation: Count,
  secret: v.pipe(v.picklist(['derived', 'stored']), v.description('Made from TENANTS_KEY, or by the sender')),
  key: v.pipe(
    v.picklist(['current', 'previous', 'unknown']),
    v.description('The TENANTS_KEY that its secret needs. Unknown: it is not set any more, so no delivery is accepted'),
  ),
  is_rotating: v.pipe(v.boolean(), v.description('Two secrets count until the rotation is finished')),
  created_at: Time,
  disabled_at: TimeOrNull,
  erase_asked_at: TimeOrNull,
  erased_at: v.pipe(TimeOrNull, v.description('Its events are erased once this is later than erase_asked_at')),
});
export type ListedTenant = v.InferOutput<typeof ListedTenant>;

export const TenantPage = v.strictObject({
  tenants: v.array(ListedTenant),
  next_cursor: v.pipe(v.nullable(v.string()), v.description('Null at the end of the list')),
});
export const TenantChange = v.strictObject({ outcome: v.picklist(['finished', 'disabled', 'marked']) });
export type TenantChange = v.InferOutput<typeof TenantChange>;
export const Resealed = v.strictObject({
  resealed: Count,
  lost: v.pipe(Count, v.description('How many stored secrets no TENANTS_KEY opens: rotate those')),
});

/** Makes, changes and lists tenants. No answer and no log line holds a secret, but for that of a new derived one. */
export function createTenantsApi({ sources, now, log }: OpsDependencies): Hono<OpsTypes> {
  const api = new Hono<OpsTypes>();

  async function tenantsIn({ env }: Context<OpsTypes>): Promise<Tenants | Response> {
    const tenantsKey = settingOf(env, 'TENANTS_KEY');
    const tenantsKeyPrevious = settingOf(env, 'TENANTS_KEY_PREVIOUS');
    if (await tenantKeysFrom(tenantsKey, tenantsKeyPrevious)) {
      return createTenants({ sources, databaseUrl: env.DATABASE_URL, tenantsKey, tenantsKeyPrevious, now });
    }
    return problem(503, 'There is no usable TENANTS_KEY', NEEDS_KEY);
  }

  /** Does what the operator wants, and logs it. */
  async function change<Done extends { readonly outcome: string }>(
    c: Context<OpsTypes>,
    work: (tenants: Tenants, source: string, tenant: string) => Promise<Done | TenantRefusal>,
    answer: (done: Done) => object,
  ): Promise<Response> {
    const tenants = await tenantsIn(c);
    if (tenants instanceof Response) return tenants;
    const { source = '', tenant = '' } = c.req.param();
    const result = await work(tenants, source, tenant);
    if (isRefusal(result)) return refusal(result);
    log({ step: 'operator', outcome: `tenant_${result.outcome}`, source, tenant });
    return c.json(answer(result));
  }

  const withSecret = (name: 'put' | 'rotate') => async (c: Context<OpsTypes>) => {
    const options = await inputIn(c, readTenantSecret);
    if (options instanceof Response) return options;
    return change(
      c,
      (tenants, ...names) => tenants[name](...names, options),
      ({ address, generation, secret = null }): TenantSecret => ({ address, generation, secret }),
    );
  };
  const withoutSecret = (name: 'finish' | 'disable' | 'erase') => (c: Context<OpsTypes>) =>
    change<TenantChange>(
      c,
      (tenants, ...names) => tenants[name](...names),
      (done) => done,
    );

  api.post('/reseal', async (c) => {
    const tenants = await tenantsIn(c);
    if (tenants instanceof Response) return tenants;
    const counts = await tenants.reseal();
    log({ step: 'operator', outcome: 'tenants_resealed', ...counts });
    return c.json(counts);
  });

  api.get('/:source', async (c) => {
    const list = readTenantList(c.req.query());
    if (list.outcome === 'invalid') return problem(400, 'The request cannot be understood', list.detail);
    const tenants = await tenantsIn(c);
    if (tenants instanceof Response) return tenants;
    const { cursor: after, limit } = list.value;
    const result = await tenants.list(c.req.param('source'), { after, limit });
    if (isRefusal(result)) return refusal(result);
    return c.json({ tenants: result.tenants.map(listed), next_cursor: result.next ?? null });
  });

  api.put('/:source/:tenant', withSecret('put'));
  api.delete('/:source/:tenant', withoutSecret('disable'));
  api.post('/:source/:tenant/rotate', withSecret('rotate'));
  api.post('/:source/:tenant/finish', withoutSecret('finish'));
  api.post('/:source/:tenant/erase', withoutSecret('erase'));

  return api;
}

const NEEDS_KEY =
  `give the ops Worker the receiver's TENANTS_KEY, of ${MIN_TENANTS_KEY} characters or more: ` +
  'npx wrangler secret put TENANTS_KEY -c wrangler.ops.toml';

function listed({ isRotating, createdAt, disabledAt, eraseAskedAt, erasedAt, ...tenant }: Tenant): ListedTenant {
  return {
    ...tenant,
    is_rotating: isRotating,
    created_at: createdAt,
    disabled_at: disabledAt,
    erase_asked_at: eraseAskedAt,
    erased_at: erasedAt,
  };
}

function isRefusal(result: { readonly outcome: string }): result is TenantRefusal {
  return result.outcome === 'refused';
}

/** What an operator reads, and the status of the answer. */
const REFUSALS: Readonly<Record<TenantRefusal['reason'], readonly [status: 400 | 404 | 409, detail: string]>> = {
  no_such_source: [404, 'there is no source with this name that has tenants: true'],
  bad_name: [400, 'the name of a tenant has 1 to 64 of a-z, 0-9, _ and -'],
  no_such_tenant: [404, 'there is no tenant with this name, or it is disabled'],
  secret_needed: [400, 'secret is missing: the senders of this source make their secrets themselves'],
  secret_malformed: [400, 'secret is not in the form that this provider gives out'],
  exists: [409, 'there is a tenant with this name: rotate changes its secret'],
  being_erased: [409, 'the events of a tenant with this name are still being erased'],
  not_finished: [409, 'the rotation before is not finished: two secrets count already'],
  not_rotating: [409, 'there is no rotation to finish'],
  changed_meanwhile: [409, 'somebody else has changed the tenant at this moment'],
};

const TITLES = {
  400: 'The request cannot be understood',
  404: 'There is no such tenant',
  409: 'The tenant was not changed',
} as const;

function refusal({ reason }: TenantRefusal): Response {
  const [status, detail] = REFUSALS[reason];
  return problem(status, TITLES[status], detail);
}
