import { openDatabase } from '../db/client.ts';
import { prune } from '../db/prune.ts';
import type { Log } from '../log.ts';

/** What the receiver does every 15 minutes. */
export async function tick(env: ReceiverEnv, now: Date, log: Log): Promise<void> {
  const { events, bodies } = await prune(openDatabase(env.DATABASE_URL), now, env.DEDUPE_DAYS, env.BODY_DAYS);
  log({ at: 'prune', outcome: 'done', events, bodies });
}
