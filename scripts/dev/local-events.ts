import pg from 'pg';
import type { LogLine } from '../../src/shared/log.ts';
import type { Details } from './printer.ts';

/** The line of an effect is logged before its failure is written: it is there soon after. */
const LOOKS = 10;
const LOOK_EVERY_MS = 50;

/** What `npm run dev` reads and changes in the local database, beside the Workers. */
export interface LocalEvents {
  /** The type, attempts and last error behind a line of the log. */
  detailsOf(line: LogLine): Promise<Details>;
  /** Makes everything that is pending due now, and says how much that is. */
  makePendingDue(): Promise<number>;
  close(): Promise<void>;
}

export function openLocalEvents(databaseUrl: string): LocalEvents {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  // Postgres may be stopped while dev runs. The next query connects again.
  pool.on('error', () => {});
  return {
    async detailsOf({ source, event_id, name, step, outcome, reason }) {
      if (typeof source !== 'string' || typeof event_id !== 'string') return {};
      const query = step === 'effect' ? EFFECT : EVENT;
      const values = step === 'effect' ? [source, event_id, name] : [source, event_id];
      const failed = outcome === 'retry' || outcome === 'parked';
      for (let look = 1; ; look++) {
        const { rows } = await pool.query<Details>(query, values);
        const written = !failed || rows[0]?.error?.startsWith(String(reason));
        if (written || look === LOOKS) return rows[0] ?? {};
        await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      }
    },
    async makePendingDue() {
      const { rows } = await pool.query<{ pending: number }>(MAKE_DUE);
      return rows[0]?.pending ?? 0;
    },
    close: () => pool.end(),
  };
}

const EVENT = 'select type, attempts, last_error as error from webhooks.events where source = $1 and event_id = $2';

const EFFECT = `
  select event.type, effect.attempts, effect.last_error as error
  from webhooks.effects effect join webhooks.events event using (source, event_id)
  where source = $1 and event_id = $2 and name = $3`;

const MAKE_DUE = `
  with events as (
    update webhooks.events set due_at = now(), not_before = null where status = 'pending' returning 1
  ),
  effects as (
    update webhooks.effects set due_at = now(), not_before = null where status = 'pending' returning 1
  )
  select ((select count(*) from events) + (select count(*) from effects))::int as pending`;
