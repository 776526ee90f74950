import { type SQL, sql } from 'drizzle-orm';
import type { TenantId } from '../shared/tenants.ts';
import { type Database, run } from './client.ts';
import { tenants } from './schema.ts';
import { at, builtOnce, columnNames, isoTimes, rowsOf } from './sql.ts';

/** What makes the secrets of a tenant. */
export interface SecretColumns {
  readonly generation: number;
  readonly keyId: string;
  readonly sealed: string | null;
  readonly previousGeneration: number | null;
  readonly previousKeyId: string | null;
  readonly sealedPrevious: string | null;
}

export interface TenantRow extends SecretColumns {
  readonly isDisabled: boolean;
}

const column = columnNames(tenants);

const SECRETS = sql`${tenants.generation}, ${tenants.keyId} as "keyId", ${tenants.sealed},
  ${tenants.previousGeneration} as "previousGeneration", ${tenants.previousKeyId} as "previousKeyId",
  ${tenants.sealedPrevious} as "sealedPrevious"`;

export const isTenant = ({ source, tenant }: TenantId) =>
  sql`${tenants.source} = ${source} and ${tenants.tenant} = ${tenant}`;

const FIND = builtOnce<{ source: string; tenant: string }>(sql`
  select ${SECRETS}, ${tenants.disabledAt} is not null as "isDisabled"
  from ${tenants}
  where ${tenants.source} = ${sql.placeholder('source')} and ${tenants.tenant} = ${sql.placeholder('tenant')}`);

export async function findTenant(db: Database, { source, tenant }: TenantId): Promise<TenantRow | undefined> {
  const [row] = await run<TenantRow>(db, FIND({ source, tenant }));
  return row;
}

const WITHOUT_PREVIOUS = sql`${column.previousGeneration} = null, ${column.previousKeyId} = null, ${column.sealedPrevious} = null`;

const WITHOUT_SECRETS = sql`${column.sealed} = null, ${WITHOUT_PREVIOUS}`;

/** Both times stay if the tenant is made again: they tell its old events from the new ones. */
export const IS_BEING_ERASED = sql`(${tenants.eraseAskedAt} is not null and ${tenants.eraseAskedAt} > coalesce(${tenants.erasedAt}, '-infinity'))`;

/**
 * Makes a tenant, and returns its generation. One that was disabled is made again with the next generation, so that an old
 * secret is never used again, unless its events are still being erased. `undefined`: there is such a tenant.
 */
export async function insertTenant(
  db: Database,
  { source, tenant }: TenantId,
  { keyId, sealed }: Pick<SecretColumns, 'keyId' | 'sealed'>,
  now: Date,
): Promise<number | undefined> {
  const [row] = await run<{ generation: number }>(
    db,
    sql`
    insert into ${tenants} (${column.source}, ${column.tenant}, ${column.keyId}, ${column.sealed}, ${column.createdAt})
    values (${source}, ${tenant}, ${keyId}, ${sealed}, ${at(now)})
    on conflict (${column.source}, ${column.tenant}) do update set
      ${column.generation} = ${tenants.generation} + 1, ${column.keyId} = excluded.key_id, ${WITHOUT_PREVIOUS},
      ${column.sealed} = excluded.sealed, ${column.disabledAt} = null
    where ${tenants.disabledAt} is not null and not ${IS_BEING_ERASED}
    returning ${tenants.generation}`,
  );
  return row?.generation;
}

/** Begins the next generation. False: meanwhile, the tenant was changed by somebody else. */
export async function rotateTenant(
  db: Database,
  id: TenantId,
  generation: number,
  next: Omit<SecretColumns, 'generation'>,
): Promise<boolean> {
  return changes(
    db,
    sql`
    update ${tenants} set
      ${column.generation} = ${generation + 1}, ${column.keyId} = ${next.keyId}, ${column.sealed} = ${next.sealed},
      ${column.previousGeneration} = ${next.previousGeneration}, ${column.previousKeyId} = ${next.previousKeyId},
      ${column.sealedPrevious} = ${next.sealedPrevious}
    where ${isTenant(id)} and ${tenants.generation} = ${generation} and ${tenants.disabledAt} is null`,
  );
}

/** From now on, only the current secret counts. */
export function finishRotation(db: Database, id: TenantId): Promise<boolean> {
  const isRotating = sql`${tenants.previousGeneration} is not null`;
  return changes(db, sql`update ${tenants} set ${WITHOUT_PREVIOUS} where ${isTenant(id)} and ${isRotating}`);
}

/** Keeps the row, so that its generation is known if the tenant is made again. */
export function disableTenant(db: Database, id: TenantId, now: Date): Promise<boolean> {
  return changes(
    db,
    sql`
    update ${tenants} set ${column.disabledAt} = ${at(now)}, ${WITHOUT_SECRETS}
    where ${isTenant(id)} and ${tenants.disabledAt} is null`,
  );
}

/** Disables the tenant and asks for its events to be erased. The consumer's cron erases them. */
export function markForErasure(db: Database, id: TenantId, now: Date): Promise<boolean> {
  return changes(
    db,
    sql`
    update ${tenants} set
      ${column.disabledAt} = coalesce(${tenants.disabledAt}, ${at(now)}), ${column.eraseAskedAt} = ${at(now)},
      ${WITHOUT_SECRETS}
    where ${isTenant(id)}`,
  );
}

async function changes(db: Database, update: SQL): Promise<boolean> {
  return (await run(db, sql`${update} returning ${tenants.tenant}`)).length > 0;
}

export interface ListedTenant {
  readonly tenant: string;
  readonly generation: number;
  readonly keyId: string;
  readonly isStored: boolean;
  readonly isRotating: boolean;
  readonly createdAt: string;
  readonly disabledAt: string | null;
  readonly eraseAskedAt: string | null;
  readonly erasedAt: string | null;
}

/** The tenants of a source behind this name, as many as `limit`. */
export async function listTenants(
  db: Database,
  source: string,
  after: string,
  limit: number,
): Promise<readonly ListedTenant[]> {
  const rows = await run<ListedTenant>(
    db,
    sql`
    select ${tenants.tenant}, ${tenants.generation}, ${tenants.keyId} as "keyId", ${tenants.sealed} is not null as "isStored",
           ${tenants.previousGeneration} is not null as "isRotating", ${tenants.createdAt} as "createdAt",
           ${tenants.disabledAt} as "disabledAt", ${tenants.eraseAskedAt} as "eraseAskedAt", ${tenants.erasedAt} as "erasedAt"
    from ${tenants} where ${tenants.source} = ${source} and ${tenants.tenant} > ${after}
    order by ${tenants.tenant} limit ${limit}`,
  );
  return rows.map((row) => isoTimes(row, 'createdAt', 'disabledAt', 'eraseAskedAt', 'erasedAt'));
}

export interface SealedRow extends TenantId, SecretColumns {}

/** Tenants behind this one with a stored secret that another key than this one has sealed. */
export function listSealedWithOther(
  db: Database,
  keyId: string,
  { source, tenant }: TenantId,
  limit: number,
): Promise<SealedRow[]> {
  return run<SealedRow>(
    db,
    sql`
    select ${tenants.source}, ${tenants.tenant}, ${SECRETS}
    from ${tenants}
    where (${tenants.source}, ${tenants.tenant}) > (${source}, ${tenant})
      and ((${tenants.sealed} is not null and ${tenants.keyId} <> ${keyId})
        or (${tenants.sealedPrevious} is not null and ${tenants.previousKeyId} <> ${keyId}))
    order by ${tenants.source}, ${tenants.tenant} limit ${limit}`,
  );
}

/** What was sealed again. A row that somebody has changed meanwhile is left as it is. Returns how many were written. */
export async function writeResealed(
  db: Database,
  rows: readonly { readonly before: SealedRow; readonly after: SealedRow }[],
): Promise<number> {
  const resealed = rowsOf('resealed', rows, {
    source: ['text', ({ before }) => before.source],
    tenant: ['text', ({ before }) => before.tenant],
    was: ['text', ({ before }) => before.sealed],
    was_previous: ['text', ({ before }) => before.sealedPrevious],
    key_id: ['text', ({ after }) => after.keyId],
    sealed: ['text', ({ after }) => after.sealed],
    previous_key_id: ['text', ({ after }) => after.previousKeyId],
    sealed_previous: ['text', ({ after }) => after.sealedPrevious],
  });
  const written = await run(
    db,
    sql`
    update ${tenants} set
      ${column.keyId} = resealed.key_id, ${column.sealed} = resealed.sealed,
      ${column.previousKeyId} = resealed.previous_key_id, ${column.sealedPrevious} = resealed.sealed_previous
    from ${resealed}
    where ${tenants.source} = resealed.source and ${tenants.tenant} = resealed.tenant
      and ${tenants.sealed} is not distinct from resealed.was
      and ${tenants.sealedPrevious} is not distinct from resealed.was_previous
    returning ${tenants.tenant}`,
  );
  return written.length;
}
