import { sql } from 'drizzle-orm';
import type { EffectTicket } from '../queue/tickets.ts';
import { type Database, run } from './client.ts';

export interface SettledEffect extends EffectTicket {
  /** Still `pending` where it is to be tried again at `dueAt`. */
  readonly status: 'pending' | 'sent' | 'parked';
  readonly error: string | null;
  readonly dueAt: Date;
}

/** Counts an attempt of each effect and keeps what came of it. What is sent stays sent. */
export async function settleEffects(db: Database, effects: readonly SettledEffect[], now: Date): Promise<void> {
  if (effects.length === 0) return;
  const column = (read: (effect: SettledEffect) => string | null) => sql.param(effects.map(read));
  await run(
    db,
    sql`
    update webhook_effects effect set
      attempts = attempts + 1,
      status = settled.status,
      last_error = settled.error,
      due_at = settled.due_at,
      sent_at = case when settled.status = 'sent' then ${now.toISOString()}::timestamptz end
    from unnest(${column((effect) => effect.source)}::text[], ${column((effect) => effect.id)}::text[],
                ${column((effect) => effect.name)}::text[], ${column((effect) => effect.status)}::text[],
                ${column((effect) => effect.error)}::text[],
                ${column((effect) => effect.dueAt.toISOString())}::timestamptz[])
      as settled (source, event_id, name, status, error, due_at)
    where (effect.source, effect.event_id, effect.name) = (settled.source, settled.event_id, settled.name)
      and effect.status = 'pending'`,
  );
}
