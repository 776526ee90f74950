import { openDatabase } from '../db/client.ts';
import { findOverdue } from '../db/overdue.ts';
import { sendTickets } from '../queue/send.ts';

/** A flood of duplicates must not double the questions to Postgres. The sweep finds what is not asked about here. */
const ASK_EVERY_MS = 1000;

/** Sends the tickets of duplicates again that may be lost. It is done after the answer, because no sender waits for it. */
export class OverdueTickets {
  #askedAt = 0;

  isTime(now: Date): boolean {
    return now.getTime() - this.#askedAt >= ASK_EVERY_MS;
  }

  async send(env: ReceiverEnv, source: string, eventIds: readonly string[], now: Date): Promise<void> {
    this.#askedAt = now.getTime();
    try {
      const overdue = await findOverdue(openDatabase(env.DATABASE_URL), source, eventIds, now);
      await sendTickets(
        env.EVENTS,
        overdue.map((eventId) => ({ source, eventId })),
      );
    } catch {
      // Postgres is away. The sweep asks again.
    }
  }
}
