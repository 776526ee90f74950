import { sql } from 'drizzle-orm';
import { type Database, run } from './client.ts';
import type { EventKey } from './keys.ts';
import type { ListedEvent } from './list.ts';
import { webhookBodies as bodies, webhookEffects as effects, webhookEvents as events } from './schema.ts';
import { isoOf } from './status.ts';

/** All that is known of an event. The names are those of the API. */
export interface EventDetails extends ListedEvent {
  readonly occurred_at: string | null;
  readonly not_before: string | null;
  readonly summary: string | null;
  readonly completions: number;
  readonly fingerprint: string | null;
  readonly replay_number: number;
  readonly actions: readonly {
    readonly at: string;
    readonly who: string;
    readonly action: string;
    readonly reason: string | null;
  }[];
  /** Null if it has been pruned. */
  readonly body: string | null;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly effects: readonly EffectDetails[];
}

export interface EffectDetails {
  readonly name: string;
  readonly kind: string;
  readonly status: 'pending' | 'sent' | 'parked';
  readonly attempts: number;
  readonly last_error: string | null;
  readonly due_at: string;
  readonly sent_at: string | null;
}

/** Undefined if there is no such event. */
export async function loadDetails(db: Database, { source, eventId }: EventKey): Promise<EventDetails | undefined> {
  const [row] = await run<EventDetails & Record<string, unknown>>(
    db,
    sql`
    select ${events.source} as source, ${events.eventId} as event_id, ${events.type} as type, ${events.status} as status,
      ${events.attempts} as attempts, ${events.lastError} as last_error, ${events.summary} as summary,
      ${events.occurredAt} as occurred_at, ${events.receivedAt} as received_at, ${events.dueAt} as due_at,
      ${events.notBefore} as not_before, ${events.finishedAt} as finished_at, ${events.completions} as completions,
      ${events.fingerprint} as fingerprint, ${events.replayNumber} as replay_number,
      coalesce(${events.actions}, '[]') as actions, ${bodies.body} as body, ${bodies.headers} as headers,
      coalesce((
        select json_agg(json_build_object(
          'name', ${effects.name}, 'kind', ${effects.kind}, 'status', ${effects.status}, 'attempts', ${effects.attempts},
          'last_error', ${effects.lastError}, 'due_at', ${effects.dueAt}, 'sent_at', ${effects.sentAt}
        ) order by ${effects.name})
        from ${effects} where (${effects.source}, ${effects.eventId}) = (${source}, ${eventId})
      ), '[]') as effects
    from ${events} left join ${bodies} on (${bodies.source}, ${bodies.eventId}) = (${events.source}, ${events.eventId})
    where (${events.source}, ${events.eventId}) = (${source}, ${eventId})`,
  );
  return (
    row && {
      ...row,
      occurred_at: isoOf(row.occurred_at),
      received_at: isoOf(row.received_at) ?? '',
      due_at: isoOf(row.due_at) ?? '',
      not_before: isoOf(row.not_before),
      finished_at: isoOf(row.finished_at),
      effects: row.effects.map((effect) => ({
        ...effect,
        due_at: isoOf(effect.due_at) ?? '',
        sent_at: isoOf(effect.sent_at),
      })),
    }
  );
}
