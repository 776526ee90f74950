import pg from 'pg';
import { LOOPBACK } from '../../lib/port.ts';
import { NeonError } from './neon-error.ts';
import type { Connection } from './request.ts';
import { Session, type SessionOptions } from './session.ts';

/** Neon runs this before a connection goes back to its pool, so that nothing of a session reaches the next request. */
const RESET = `
  ROLLBACK; CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; DEALLOCATE ALL; UNLISTEN *;
  SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES`;

/** Neon keeps this many idle connections for an endpoint. A request that finds none opens another. */
const MAX_IDLE = 20;

/** Neon keeps them for 5 minutes. It is shorter here, because `drop database` fails while a connection is open. */
const IDLE_MS = 5000;

/** Every value stays as Postgres writes it. */
const AS_TEXT = { getTypeParser: () => (value: string) => value };

/** Connections to Postgres, pooled for each role and database, as in Neon's proxy. */
export class Sessions {
  private readonly pools = new Map<string, pg.Pool>();
  private readonly options: Pick<SessionOptions, 'postgresPort' | 'maxBytes'>;

  constructor(options: Pick<SessionOptions, 'postgresPort' | 'maxBytes'>) {
    this.options = options;
  }

  /** Does the work of one request in a session of its own. */
  async use<T>(connection: Connection, hungUp: AbortSignal, work: (session: Session) => Promise<T>): Promise<T> {
    const pool = this.poolFor(connection);
    const client = await pool.connect().catch((error: unknown) => {
      throw NeonError.fromConnect(error, connection.user);
    });
    let reusable = false;
    try {
      const result = await work(new Session(client, { ...this.options, hungUp }));
      reusable = true;
      return result;
    } catch (error) {
      // After any other error the connection may be in the middle of a statement or of its answer.
      reusable = error instanceof pg.DatabaseError;
      throw error;
    } finally {
      // A connection whose request hung up is not used again, because a late cancel would hit the next request.
      const clean = reusable && !hungUp.aborted && (await isReset(client));
      client.release(!clean || this.idleConnections() >= MAX_IDLE);
    }
  }

  /** Resolves when the last request has given its connection back. */
  async close(): Promise<void> {
    await Promise.all([...this.pools.values()].map((pool) => pool.end()));
  }

  private idleConnections(): number {
    return [...this.pools.values()].reduce((total, pool) => total + pool.idleCount, 0);
  }

  private poolFor(connection: Connection): pg.Pool {
    const key = JSON.stringify(connection);
    const known = this.pools.get(key);
    if (known) return known;
    const server = { host: LOOPBACK, port: this.options.postgresPort };
    const limits = { max: Number.POSITIVE_INFINITY, idleTimeoutMillis: IDLE_MS };
    const pool = new pg.Pool({ ...connection, ...server, ...limits, types: AS_TEXT });
    // A connection may be lost while it is idle or in use. Without a listener that would end the process.
    pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}));
    this.pools.set(key, pool);
    return pool;
  }
}

function isReset(client: pg.PoolClient): Promise<boolean> {
  return client.query(RESET).then(
    () => true,
    () => false,
  );
}
