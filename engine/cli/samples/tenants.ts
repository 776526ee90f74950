import { openDatabase } from '../../src/db/client.ts';
import { findTenant } from '../../src/db/tenants.ts';
import type { Source } from '../../src/kit/index.ts';
import { secretName } from '../../src/receiver/secrets.ts';
import { secretOf, segmentOf, tenantKeysFrom } from '../../src/shared/tenants.ts';
import { createTenants } from '../../src/tenants/index.ts';
import { signingKeyName } from '../config/dev-vars.ts';
import { UserError } from '../lib/user-error.ts';

/** A tenant that sample deliveries are from. */
export interface SampleTenant {
  readonly tenant: string;
  /** The last segment of its address. */
  readonly segment: string;
  /** What its sender signs with. */
  readonly key: string;
}

interface Wanted {
  readonly name: string;
  readonly source: Source;
  readonly tenant: string;
  /** Of a role that may write tenants, on this machine. */
  readonly databaseUrl: string;
  /** The secrets of the receiver. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** If there is no such tenant, it is made. On this machine, new tenants of a source have the same secret: that of the source. */
export async function sampleTenant({ name, source, tenant, databaseUrl, secrets }: Wanted): Promise<SampleTenant> {
  const { TENANTS_KEY: tenantsKey, TENANTS_KEY_PREVIOUS: tenantsKeyPrevious } = secrets;
  const keys = await tenantKeysFrom(tenantsKey, tenantsKeyPrevious);
  if (keys === undefined) throw new UserError('TENANTS_KEY is not set: npm run dev makes it');
  const tenants = createTenants({ sources: { [name]: source }, databaseUrl, tenantsKey, tenantsKeyPrevious });
  const made = await tenants.put(name, tenant, { secret: secrets[secretName(name)] ?? '' });
  if (made.outcome === 'refused' && made.reason !== 'exists') {
    throw new UserError(`the tenant ${tenant} of ${name} can't be made: ${made.reason.replaceAll('_', ' ')}`);
  }
  const id = { source: name, tenant };
  const row = await findTenant(openDatabase(databaseUrl), id);
  const secret = row && (await secretOf(keys, id, 'sealed', row));
  return { tenant, segment: await segmentOf(keys[0], id), key: secrets[signingKeyName(name)] ?? secret ?? '' };
}
