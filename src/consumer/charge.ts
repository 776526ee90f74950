import type { Database } from '../db/client.ts';
import { DatabaseError } from '../db/errors.ts';
import { type Failure, recordFailures } from '../db/fail.ts';

/**
 * A statement that crashes Postgres must count as a failure too, and Postgres is back within seconds after a crash. What
 * lasts longer than these waits together is an outage.
 */
const WAITS_MS = [1000, 2000, 4000];

/**
 * Counts an attempt of each event that failed. This write is also the test of who is to blame: if Postgres takes it,
 * Postgres works, and the events failed on their own account. If it doesn't, the error is thrown, and nobody is charged.
 */
export async function chargeFailures(db: Database, failures: readonly Failure[], now: Date): Promise<void> {
  for (const wait of WAITS_MS) {
    try {
      return await recordFailures(db, failures, now);
    } catch (error) {
      if (!DatabaseError.from(error).retryable) throw error;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
  await recordFailures(db, failures, now);
}
