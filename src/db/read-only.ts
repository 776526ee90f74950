import { type HTTPQueryOptions, NeonQueryPromise, neon } from '@neondatabase/serverless';
import { drizzle, type NeonHttpDatabase } from 'drizzle-orm/neon-http';
import { checkedUrl } from './client.ts';
import { DatabaseError, TRANSACTION_CONTROL_REFUSED } from './errors.ts';
import { controlsTransaction } from './user-statement.ts';

/** For handlers: builds statements, and reads. Postgres refuses every write through it. */
export type ReadOnlyDatabase = NeonHttpDatabase;

/**
 * Every query through this handle runs in a read-only transaction of its own, so that Postgres itself refuses a write
 * that a handler awaits. The refusal of transaction control closes the way around it: `commit`, and then the write.
 */
export function openReadOnlyDatabase(url: string | undefined): ReadOnlyDatabase {
  const client = neon(checkedUrl(url), { readOnly: true });
  const { query, transaction: original } = client;
  const transaction: typeof client.transaction = (...call) =>
    original(...call).catch((error: unknown) => {
      // The driver's errors hold values of parameters, and messages of Postgres that quote values.
      throw DatabaseError.fromDriver(error);
    });
  const readOnly = (text: string, params: unknown[] = [], options?: HTTPQueryOptions<false, false>) => {
    if (controlsTransaction(text)) {
      throw new DatabaseError('a statement that controls the transaction was not sent', {
        retryable: false,
        code: TRANSACTION_CONTROL_REFUSED,
      });
    }
    // Neon knows read-only only for batches: this is a batch of one.
    const alone = async () => (await transaction([query(text, params, options)]))[0];
    return new NeonQueryPromise(alone, { query: text, params }, options);
  };
  return drizzle(Object.assign(client, { query: readOnly as typeof query, transaction }));
}
