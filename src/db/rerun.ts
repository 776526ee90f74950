import { type SQL, sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import { columnNames } from './columns.ts';
import { type EventFilter, matches } from './filter.ts';
import { checkedTarget, noteAction, type Operated, type Operation, operate, parkedTarget } from './operate.ts';
import { webhookBodies as bodies, webhookEffects as effects, webhookEvents as events } from './schema.ts';

const eventColumn = columnNames(events);

/** Finished events that can run again: their bodies are still there. */
function finishedTarget(filter: EventFilter): SQL {
  return sql`target as (
      select ${events.source} as source, ${events.eventId} as event_id
      from ${events} join ${bodies} on (${bodies.source}, ${bodies.eventId}) = (${events.source}, ${events.eventId})
      -- Discarded events are ignored as well, but were never completed: they stay discarded.
      where ${events.status} in ('done', 'ignored') and ${events.completions} = 1 and ${matches(filter)}
      for update of ${events}
    )`;
}

/**
 * Makes finished events pending, so that their handlers run once more: their changes are made a second time.
 * Effects that were enqueued before stay as they are, and the rerun can't add them again. With `sendEffectsAgain` they
 * are deleted first, and sent again with the same idempotency keys as before.
 */
export async function rerunFinished(
  db: Database,
  { filter, action, expected, sendEffectsAgain }: Operation & { readonly sendEffectsAgain: boolean },
): Promise<Operated> {
  return operate(
    db,
    sql`${finishedTarget(filter)}, ${checkedTarget(expected)},
    deleted_effects as (
      delete from ${effects} using target, checked
      where as_expected and ${sendEffectsAgain}
        and (${effects.source}, ${effects.eventId}) = (target.source, target.event_id)
      returning 1
    ),
    changed_events as (
      update ${events} set
        ${eventColumn.status} = 'pending', ${eventColumn.completions} = 0, ${eventColumn.attempts} = 0,
        ${eventColumn.dueAt} = ${action.at.toISOString()}::timestamptz, ${eventColumn.notBefore} = null,
        ${eventColumn.finishedAt} = null, ${eventColumn.summary} = null, ${eventColumn.lastError} = null,
        ${noteAction(action)}
      from target, checked
      where as_expected and (${events.source}, ${events.eventId}) = (target.source, target.event_id)
      returning ${events.source} as source, ${events.eventId} as event_id
    ),
    -- The handler asks for its effects, so none of them needs a ticket now.
    changed_effects as (select null as source, null as event_id, null as name where false)`,
  );
}

/** How many events an action would change. */
export async function countMatching(
  db: Database,
  action: 'retry' | 'discard' | 'rerun',
  filter: EventFilter,
): Promise<number> {
  const target = action === 'rerun' ? finishedTarget(filter) : parkedTarget(filter);
  const [row] = await run<{ matching: number }>(db, sql`with ${target} select count(*)::int as matching from target`);
  return row?.matching ?? 0;
}
