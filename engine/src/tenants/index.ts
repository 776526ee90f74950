// 'claimcheck/tenants': makes, changes and lists tenants, in the ops Worker and in your own back end (docs/tenants.md).
import { openDatabase } from '../db/client.ts';
import {
  disableTenant,
  findTenant,
  finishRotation,
  insertTenant,
  listSealedWithOther,
  listTenants,
  markForErasure,
  rotateTenant,
  type SealedRow,
  writeResealed,
} from '../db/tenants.ts';
import type { Source } from '../kit/index.ts';
import {
  addressOf,
  derivedSecret,
  isTenantName,
  MIN_TENANTS_KEY,
  type SealedColumn,
  sealSecret,
  secretOf,
  segmentOf,
  type TenantId,
  type TenantKey,
  type TenantKeys,
  tenantKeysFrom,
} from '../shared/tenants.ts';
import { canBeDerived, isUsableSecret } from '../verify/secret-form.ts';

/**
 * What `createTenants` needs.
 *
 * @example
 * const options: TenantsOptions = {
 *   sources,
 *   databaseUrl: env.DATABASE_URL,
 *   tenantsKey: env.TENANTS_KEY,
 * };
 */
export interface TenantsOptions {
  readonly sources: Readonly<Record<string, Source>>;
  /** A role that may read, insert and update `webhooks.tenants`. */
  readonly databaseUrl: string;
  /** The same as the receiver's. */
  readonly tenantsKey: string | undefined;
  readonly tenantsKeyPrevious?: string | undefined;
  readonly now?: () => Date;
}

/**
 * Why nothing was done.
 *
 * @example
 * const sentences: Partial<Record<TenantRefusal['reason'], string>> = { bad_name: 'use a-z, 0-9, _ and -' };
 */
export interface TenantRefusal {
  readonly outcome: 'refused';
  readonly reason: /** There is no such source, or it has no tenants. */
    | 'no_such_source'
    /** A name is `[a-z0-9_-]{1,64}`. */
    | 'bad_name'
    /** There is no such tenant, or it is disabled. */
    | 'no_such_tenant'
    /** This sender makes the secret itself, so pass it as `secret`. */
    | 'secret_needed'
    /** The secret is not in the form that this provider gives out. */
    | 'secret_malformed'
    /** There is such a tenant. `rotate` changes its secret. */
    | 'exists'
    /** The events of a tenant with this name are still being erased. */
    | 'being_erased'
    /** The rotation before is not finished. */
    | 'not_finished'
    /** There is no rotation to finish. */
    | 'not_rotating'
    /** Somebody else changed the tenant at the same moment. */
    | 'changed_meanwhile';
}

/**
 * A tenant with a new secret.
 *
 * @example
 * const show = ({ address, secret }: TenantSecretMade) => `send to ${address}, sign with ${secret ?? 'your own secret'}`;
 */
export interface TenantSecretMade {
  readonly outcome: 'made' | 'rotated';
  /** A whole URL if the source has a `url`. Otherwise only the path. */
  readonly address: string;
  readonly generation: number;
  /** Only if it was derived, and it is not shown again. Tell it to the sender. */
  readonly secret: string | undefined;
}

/**
 * A tenant as it is listed.
 *
 * @example
 * const needsNewAddress = ({ key, disabledAt }: Tenant) => key !== 'current' && disabledAt === null;
 */
export interface Tenant {
  readonly tenant: string;
  readonly address: string;
  readonly generation: number;
  readonly secret: 'derived' | 'stored';
  /** Which TENANTS_KEY made or sealed its secret. `unknown`: one that is no longer set, so its deliveries can't be verified. */
  readonly key: 'current' | 'previous' | 'unknown';
  /** Both secrets are accepted until the rotation is finished. */
  readonly isRotating: boolean;
  readonly createdAt: string;
  readonly disabledAt: string | null;
  /** When erasure was asked for. It stays if the tenant is made again, and is about its old events, like `erasedAt`. */
  readonly eraseAskedAt: string | null;
  /** When its events were erased. */
  readonly erasedAt: string | null;
}

/**
 * Makes, changes and lists tenants.
 *
 * @example
 * async function connectShop(tenants: Tenants, customer: string) {
 *   const made = await tenants.put('woo', customer);
 *   return made.outcome === 'refused' ? made.reason : made.address;
 * }
 */
export interface Tenants {
  /** Where a tenant's deliveries go, even if it isn't made yet: some senders ask for the address before they show their secret. */
  address(source: string, tenant: string): Promise<{ outcome: 'made'; address: string } | TenantRefusal>;
  /**
   * Makes a tenant. With `secret`, that secret is encrypted and stored. Without, one is derived from TENANTS_KEY and returned
   * only now.
   */
  put(
    source: string,
    tenant: string,
    options?: { readonly secret?: string | undefined },
  ): Promise<TenantSecretMade | TenantRefusal>;
  /** Gives a tenant its next secret. The old one is accepted too, until `finish`. */
  rotate(
    source: string,
    tenant: string,
    options?: { readonly secret?: string | undefined },
  ): Promise<TenantSecretMade | TenantRefusal>;
  /** From now on, only the current secret is accepted. */
  finish(source: string, tenant: string): Promise<{ outcome: 'finished' } | TenantRefusal>;
  /** Its deliveries are answered 404. If it is made again, it gets another secret. */
  disable(source: string, tenant: string): Promise<{ outcome: 'disabled' } | TenantRefusal>;
  /** Disables it, and marks its events: the consumer's cron erases what they hold, and keeps their keys. */
  erase(source: string, tenant: string): Promise<{ outcome: 'marked' } | TenantRefusal>;
  /** A page of tenants, ordered by name, after the name `after`. `next` is the `after` of the next page. */
  list(
    source: string,
    options?: { readonly after?: string | undefined; readonly limit?: number | undefined },
  ): Promise<{ outcome: 'listed'; tenants: readonly Tenant[]; next: string | undefined } | TenantRefusal>;
  /** Encrypts all stored secrets with the current key. `lost`: how many tenants have one that no key opens. Rotate those. */
  reseal(): Promise<{ readonly resealed: number; readonly lost: number }>;
}

/** One page of `list`, and one step of `reseal`. */
const PAGE = 500;

/**
 * Throws if TENANTS_KEY or TENANTS_KEY_PREVIOUS has fewer than 32 characters.
 *
 * @example
 * const tenants = createTenants({
 *   sources,
 *   databaseUrl: process.env.TENANTS_DATABASE_URL ?? '',
 *   tenantsKey: process.env.TENANTS_KEY,
 * });
 * const made = await tenants.put('woo', 'acme');
 */
export function createTenants({
  sources,
  databaseUrl,
  tenantsKey,
  tenantsKeyPrevious,
  now = () => new Date(),
}: TenantsOptions): Tenants {
  for (const key of [tenantsKey ?? '', tenantsKeyPrevious]) {
    if (key !== undefined && key.trim().length < MIN_TENANTS_KEY) {
      throw new TypeError(`TENANTS_KEY and TENANTS_KEY_PREVIOUS need at least ${MIN_TENANTS_KEY} characters`);
    }
  }
  const db = openDatabase(databaseUrl);

  async function loadKeys(): Promise<TenantKeys> {
    const keys = await tenantKeysFrom(tenantsKey, tenantsKeyPrevious);
    if (keys === undefined) throw new TypeError('TENANTS_KEY is missing');
    return keys;
  }

  function sourceOf(name: string): Source | undefined {
    const source = Object.hasOwn(sources, name) ? sources[name] : undefined;
    return source?.tenants ? source : undefined;
  }

  /** Checks the source and the name before `work`. It doesn't look whether the tenant exists. */
  async function withTenant<Done>(
    source: string,
    tenant: string,
    work: (found: {
      readonly id: TenantId;
      readonly source: Source;
      readonly keys: TenantKeys;
    }) => Promise<Done | TenantRefusal>,
  ): Promise<Done | TenantRefusal> {
    const found = sourceOf(source);
    if (found === undefined) return refused('no_such_source');
    if (!isTenantName(tenant)) return refused('bad_name');
    return work({ id: { source, tenant }, source: found, keys: await loadKeys() });
  }

  async function addressAt({ url }: Source, key: TenantKey, id: TenantId): Promise<string> {
    return addressOf(url ?? `/webhooks/${id.source}`, await segmentOf(key, id));
  }

  return {
    address: (...names) =>
      withTenant(...names, async ({ id, source, keys: [key] }) => ({
        outcome: 'made',
        address: await addressAt(source, key, id),
      })),

    put: (sourceName, tenant, options = {}) =>
      withTenant<TenantSecretMade>(sourceName, tenant, async ({ id, source, keys: [key] }) => {
        const secret = options.secret?.trim();
        const reason = whyNotUsable(source, secret);
        if (reason !== undefined) return refused(reason);
        const sealed = secret === undefined ? null : await sealSecret(key, id, 'sealed', secret);
        const generation = await insertTenant(db, id, { keyId: key.id, sealed }, now());
        if (generation === undefined) {
          // A disabled tenant is made again, unless it is being erased.
          return refused((await findTenant(db, id))?.isDisabled ? 'being_erased' : 'exists');
        }
        return {
          outcome: 'made',
          address: await addressAt(source, key, id),
          generation,
          secret: secret === undefined ? await derivedSecret(key, id, generation) : undefined,
        };
      }),

    rotate: (sourceName, tenant, options = {}) =>
      withTenant<TenantSecretMade>(sourceName, tenant, async ({ id, source, keys }) => {
        const secret = options.secret?.trim();
        const reason = whyNotUsable(source, secret);
        if (reason !== undefined) return refused(reason);
        const row = await findTenant(db, id);
        if (row === undefined || row.isDisabled) return refused('no_such_tenant');
        if (row.previousGeneration !== null) return refused('not_finished');
        const [key] = keys;
        // If no key can compute or open the current secret, no delivery can be checked with it. So it isn't kept as the
        // previous one.
        const previous = await secretOf(keys, id, 'sealed', row);
        const isKept = previous !== undefined;
        const isStored = isKept && row.sealed !== null;
        const generation = row.generation + 1;
        const isWritten = await rotateTenant(db, id, row.generation, {
          keyId: key.id,
          sealed: secret === undefined ? null : await sealSecret(key, id, 'sealed', secret),
          previousGeneration: isKept ? row.generation : null,
          // A secret is sealed for its column, so in `sealed_previous` it is sealed again, with the current key.
          previousKeyId: isKept ? (isStored ? key.id : row.keyId) : null,
          sealedPrevious: isStored ? await sealSecret(key, id, 'sealed_previous', previous) : null,
        });
        if (!isWritten) return refused('changed_meanwhile');
        return {
          outcome: 'rotated',
          address: await addressAt(source, key, id),
          generation,
          secret: secret === undefined ? await derivedSecret(key, id, generation) : undefined,
        };
      }),

    finish: (...names) =>
      withTenant(...names, async ({ id }) =>
        (await finishRotation(db, id)) ? { outcome: 'finished' } : refused('not_rotating'),
      ),

    disable: (...names) =>
      withTenant(...names, async ({ id }) =>
        (await disableTenant(db, id, now())) ? { outcome: 'disabled' } : refused('no_such_tenant'),
      ),

    erase: (...names) =>
      withTenant(...names, async ({ id }) =>
        (await markForErasure(db, id, now())) ? { outcome: 'marked' } : refused('no_such_tenant'),
      ),

    async list(sourceName, { after = '', limit = PAGE } = {}) {
      const source = sourceOf(sourceName);
      if (source === undefined) return refused('no_such_source');
      const keys = await loadKeys();
      const rows = await listTenants(db, sourceName, after, limit);
      const listed = rows.map(async ({ keyId, isStored, ...row }): Promise<Tenant> => {
        const keyIndex = keys.findIndex(({ id }) => id === keyId);
        return {
          ...row,
          address: await addressAt(source, keys[0], { source: sourceName, tenant: row.tenant }),
          secret: isStored ? 'stored' : 'derived',
          key: keyIndex === 0 ? 'current' : keyIndex > 0 ? 'previous' : 'unknown',
        };
      });
      const next = rows.length === limit ? rows.at(-1)?.tenant : undefined;
      return { outcome: 'listed', tenants: await Promise.all(listed), next };
    },

    async reseal() {
      const keys = await loadKeys();
      let resealed = 0;
      let lost = 0;
      let after: TenantId = { source: '', tenant: '' };
      while (true) {
        const rows = await listSealedWithOther(db, keys[0].id, after, PAGE);
        const opened = await Promise.all(rows.map((row) => sealedAnew(keys, row)));
        const done = opened.flatMap((row, n) =>
          row === undefined ? [] : [{ before: rows[n] as SealedRow, after: row }],
        );
        lost += rows.length - done.length;
        if (done.length > 0) resealed += await writeResealed(db, done);
        const last = rows.at(-1);
        if (last === undefined || rows.length < PAGE) return { resealed, lost };
        after = last;
      }
    },
  };
}

function refused(reason: TenantRefusal['reason']): TenantRefusal {
  return { outcome: 'refused', reason };
}

function whyNotUsable({ provider }: Source, secret: string | undefined): TenantRefusal['reason'] | undefined {
  if (secret === undefined) return canBeDerived(provider) ? undefined : 'secret_needed';
  return isUsableSecret(provider, secret) ? undefined : 'secret_malformed';
}

/** The row after its stored secrets are sealed again, with the current key. `undefined` if no key opens one of them. */
async function sealedAnew(keys: TenantKeys, row: SealedRow): Promise<SealedRow | undefined> {
  const [{ id: keyId }] = keys;
  const again = async (column: SealedColumn, from: { keyId: string; sealed: string }) => {
    const secret = await secretOf(keys, row, column, { ...from, generation: row.generation });
    return secret === undefined ? undefined : await sealSecret(keys[0], row, column, secret);
  };
  const { sealed, sealedPrevious, previousKeyId } = row;
  const after = { ...row };
  if (sealed !== null) {
    const anew = await again('sealed', { keyId: row.keyId, sealed });
    if (anew === undefined) return undefined;
    Object.assign(after, { sealed: anew, keyId });
  }
  if (sealedPrevious !== null && previousKeyId !== null) {
    const anew = await again('sealed_previous', { keyId: previousKeyId, sealed: sealedPrevious });
    if (anew === undefined) return undefined;
    Object.assign(after, { sealedPrevious: anew, previousKeyId: keyId });
  }
  return after;
}
