// Erases what the events of a tenant hold, for the cron. Their keys stay, so that a repeated delivery is a duplicate.
import { sql } from 'drizzle-orm';
import { ofTenant, type TenantId } from '../shared/tenants.ts';
import { type Database, run } from './client.ts';
import { bodies, cancellations, effects, events, orderKeys, tenants } from './schema.ts';
import { at, columnNames } from './sql.ts';
import { IS_BEING_ERASED, isTenant } from './tenants.ts';

/** Events in one statement, so that it holds their locks for only about a tenth of a second. */
export const ERASE_CHUNK = 1000;

/** The summary of an event that was erased. */
const ERASED = 'erased with its tenant';

const column = columnNames(events);

/**
 * Tenants that were marked before this time, and are not erased yet. A marked tenant must wait, because the receiver may serve
 * it for another minute, and what is claimed then must be erased as well.
 */
export function findMarkedTenants(db: Database, before: Date, limit: number): Promise<TenantId[]> {
  return run<TenantId>(
    db,
    sql`
    select ${tenants.source}, ${tenants.tenant} from ${tenants}
    where ${IS_BEING_ERASED} and ${tenants.eraseAskedAt} < ${at(before)}
    order by ${tenants.eraseAskedAt} limit ${limit}`,
  );
}

/**
 * Erases the next chunk of events after the id `after`. Returns how many, and the last id; `last` is `undefined` if this was the
 * last chunk. Unfinished events become `ignored`: their bodies are gone, so nobody can retry them.
 *
 * `starts_with` is correct in every collation. With Neon's (C.UTF-8), it uses the primary key. With another one, all ids of the
 * source are read once for each tenant.
 */
export async function eraseEvents(
  db: Database,
  { source, tenant }: TenantId,
  after: string,
  now: Date,
): Promise<{ readonly events: number; readonly last: string | undefined }> {
  const [row] = await run<{ events: number; last: string | null }>(
    db,
    sql`
    with chunk as (
      select ${events.source}, ${events.eventId} from ${events}
      where ${events.source} = ${source} and starts_with(${events.eventId}, ${ofTenant(tenant, '')})
        -- The summary of an event that is already erased.
        and ${events.eventId} > ${after} and ${events.summary} is distinct from ${ERASED}
      -- Not \`skip locked\`: all of them must be erased, even those that a run is working.
      order by ${events.eventId} limit ${ERASE_CHUNK} for update
    ),
    erased_effects as (
      delete from ${effects} using chunk
      where (${effects.source}, ${effects.eventId}) = (chunk.source, chunk.event_id)
    ),
    erased_bodies as (
      delete from ${bodies} using chunk where (${bodies.source}, ${bodies.eventId}) = (chunk.source, chunk.event_id)
    ),
    erased as (
      update ${events} set
        ${column.status} = case when ${events.status} = 'done' then 'done' else 'ignored' end,
        ${column.finishedAt} = case when ${events.status} in ('pending', 'parked') then ${at(now)} else ${events.finishedAt} end,
        -- A run that has already loaded the event cannot commit any more (\`completed_at_most_once\`).
        ${column.completions} = 1, ${column.summary} = ${ERASED}, ${column.lastError} = null, ${column.failedPaths} = null,
        ${column.orderKey} = null, ${column.actions} = null
      from chunk where (${events.source}, ${events.eventId}) = (chunk.source, chunk.event_id)
      returning ${events.eventId} as event_id
    )
    select count(*)::int as events, max(event_id) as last from erased`,
  );
  const { events: erased = 0, last = null } = row ?? {};
  return { events: erased, last: erased < ERASE_CHUNK ? undefined : (last ?? undefined) };
}

/**
 * Erases the tenant's order keys, cancellations and late effects, and notes that the tenant is erased, unless it was marked again
 * meanwhile. Late effects are those of a run that committed while `eraseEvents` waited for the lock of its event.
 */
export async function finishErasure(db: Database, id: TenantId, before: Date, now: Date): Promise<void> {
  const prefix = ofTenant(id.tenant, '');
  await run(
    db,
    sql`
    with erased_effects as (
      delete from ${effects} where ${effects.source} = ${id.source} and starts_with(${effects.eventId}, ${prefix})
    ),
    erased_keys as (
      delete from ${orderKeys} where ${orderKeys.source} = ${id.source} and starts_with(${orderKeys.orderKey}, ${prefix})
    ),
    erased_cancellations as (
      delete from ${cancellations}
      where ${cancellations.source} = ${id.source} and starts_with(${cancellations.cancelKey}, ${prefix})
    )
    update ${tenants} set ${columnNames(tenants).erasedAt} = ${at(now)}
    where ${isTenant(id)} and ${IS_BEING_ERASED} and ${tenants.eraseAskedAt} < ${at(before)}`,
  );
}

/**
 * Whether a delivery that was received at this time must not be claimed any more: its tenant is erased or being erased, or was
 * erased after this time and then made again.
 */
export async function isErased(db: Database, id: TenantId, receivedAt: Date): Promise<boolean> {
  const [row] = await run<{ isErased: boolean | null }>(
    db,
    sql`
    select ${tenants.disabledAt} <= ${tenants.eraseAskedAt} or ${tenants.erasedAt} >= ${at(receivedAt)} as "isErased"
    from ${tenants} where ${isTenant(id)}`,
  );
  return row?.isErased ?? false;
}
