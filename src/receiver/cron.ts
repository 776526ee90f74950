import { openDatabase } from '../db/client.ts';
import { prune } from '../db/prune.ts';
import { SWEEP_CHUNK, takeOverdue } from '../db/sweep.ts';
import type { Log } from '../log.ts';
import { sendTickets } from '../ticket.ts';

/** Chunks taken in one run: five thousand tickets. What is left stays overdue, and the next run takes it. */
const MAX_CHUNKS = 10;

/** What the receiver does every 15 minutes: send again what is overdue, forget what is old. */
export async function tick(env: ReceiverEnv, now: Date, log: Log): Promise<void> {
  await sweep(env, now, log);
  const { events, bodies } = await prune(openDatabase(env.DATABASE_URL), now, env.DEDUPE_DAYS, env.BODY_DAYS);
  log({ at: 'prune', outcome: 'done', events, bodies });
}

async function sweep(env: ReceiverEnv, now: Date, log: Log): Promise<void> {
  const db = openDatabase(env.DATABASE_URL);
  const swept = { events: 0, effects: 0 };
  let sent = true;
  for (let chunk = 0; chunk < MAX_CHUNKS && sent; chunk++) {
    const { events, effects } = await takeOverdue(db, now);
    sent = (await sendTickets(env.EVENTS, events)) && (await sendTickets(env.EFFECTS, effects));
    swept.events += events.length;
    swept.effects += effects.length;
    if (events.length < SWEEP_CHUNK && effects.length < SWEEP_CHUNK) break;
  }
  // A queue that took nothing changes nothing: what was taken is overdue again after its interval.
  log({ at: 'sweep', outcome: sent ? 'done' : 'not sent', ...swept });
}
