import { type Database, openDatabase } from '../db/client.ts';
import { PRUNE_CHUNK, prune } from '../db/prune.ts';
import { SWEEP_CHUNK, takeOverdue } from '../db/sweep.ts';
import type { Log } from '../log.ts';
import { sendTickets } from '../queue/send.ts';

/** Chunks taken in one run. What is left is left to the next. */
const MAX_CHUNKS = 10;

/** What the receiver does every 15 minutes: send again what is overdue, forget what is old. */
export async function tick(env: ReceiverEnv, now: Date, log: Log): Promise<void> {
  const db = openDatabase(env.DATABASE_URL);
  await sweep(db, env, now, log);
  await forget(db, env, now, log);
}

async function sweep(db: Database, env: ReceiverEnv, now: Date, log: Log): Promise<void> {
  const swept = { events: 0, effects: 0 };
  let sent = true;
  for (let chunk = 0; chunk < MAX_CHUNKS && sent; chunk++) {
    const { events, effects } = await takeOverdue(db, now);
    const sentBoth = [await sendTickets(env.EVENTS, events), await sendTickets(env.EFFECTS, effects)];
    sent = sentBoth.every(Boolean);
    swept.events += events.length;
    swept.effects += effects.length;
    if (events.length < SWEEP_CHUNK && effects.length < SWEEP_CHUNK) break;
  }
  // What the queue did not take is overdue again after its interval.
  log({ step: 'sweep', outcome: sent ? 'done' : 'not_sent', ...swept });
}

async function forget(db: Database, env: ReceiverEnv, now: Date, log: Log): Promise<void> {
  const pruned = { events: 0, bodies: 0 };
  for (let chunk = 0; chunk < MAX_CHUNKS; chunk++) {
    const { events, bodies } = await prune(db, now, env.DEDUPE_DAYS, env.BODY_DAYS);
    pruned.events += events;
    pruned.bodies += bodies;
    if (events < PRUNE_CHUNK && bodies < PRUNE_CHUNK) break;
  }
  log({ step: 'prune', outcome: 'done', ...pruned });
}
