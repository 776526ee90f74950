import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { LOOPBACK } from '../../lib/port.ts';
import { type Connection, NeonError, type NeonQuery } from './request.ts';

export interface Reply {
  fields: object[];
  rows: (string | null)[][];
  command: string;
  rowCount: number | null;
  rowAsArray: true;
}

export interface SessionOptions {
  readonly postgresPort: number;
  readonly maxBytes: number;
  readonly hungUp: AbortSignal;
}

/** The proxy sends the number of parameters as a signed 16-bit integer. Postgres itself allows twice as many. */
const MAX_PARAMS = 32_767;

/** The code of a cancel request in PostgreSQL's protocol. */
const CANCEL_REQUEST = 80_877_102;

/** A cancel that arrives before its statement has no effect, so it is repeated. */
const CANCEL_EVERY_MS = 50;

/** Runs the statements of one request on a connection of its own. */
export class Session {
  private readonly client: pg.PoolClient;
  private readonly options: SessionOptions;
  private answerBytes = 0;

  constructor(client: pg.PoolClient, options: SessionOptions) {
    this.client = client;
    this.options = options;
  }

  /** Runs one statement. Cancels it if the request hangs up. */
  async query(text: string, params: (string | null)[]): Promise<Reply> {
    const { hungUp } = this.options;
    if (params.length > MAX_PARAMS) {
      throw new NeonError(400, 'error encoding message to server: value too large to transmit');
    }
    hungUp.throwIfAborted();
    const statement = this.run(text, params);
    const cancel = () => void this.cancel(statement);
    hungUp.addEventListener('abort', cancel);
    return statement.finally(() => hungUp.removeEventListener('abort', cancel));
  }

  /**
   * Runs a batch in a transaction. After a failure, the caller rolls it back by resetting or closing the connection.
   */
  async batch(queries: readonly NeonQuery[], readOnly: boolean): Promise<Reply[]> {
    await this.client.query(readOnly ? 'START TRANSACTION READ ONLY' : 'START TRANSACTION');
    const replies: Reply[] = [];
    for (const { query, params } of queries) replies.push(await this.query(query, params));
    // As in the proxy, a hang-up doesn't cancel the commit.
    await this.client.query('COMMIT');
    return replies;
  }

  private run(text: string, values: (string | null)[]): Promise<Reply> {
    const { maxBytes } = this.options;
    // The extended protocol refuses several statements in one string, and a wrong number of parameters.
    const config = { text, values, rowMode: 'array', queryMode: 'extended' } as const;
    const statement = new Statement(config as pg.QueryArrayConfig);
    const rows: Reply['rows'] = [];
    return new Promise((resolve, reject) => {
      statement.on('row', (row) => {
        if (this.answerBytes > maxBytes) return;
        // Benchmarks have no limit and skip this measurement.
        if (maxBytes < Number.POSITIVE_INFINITY) this.answerBytes += Buffer.byteLength(JSON.stringify(row)) + 1;
        // Checked for each row and so before the commit, which rolls back a batch whose answer is too large.
        if (this.answerBytes > maxBytes) {
          reject(new NeonError(507, `response is too large (max is ${maxBytes} bytes)`));
        } else rows.push(row);
      });
      statement.on('error', reject);
      statement.on('end', (result) => {
        // COPY TO STDOUT sends rows in special messages, which node-postgres drops.
        if (result.command === 'COPY') reject(unexpectedMessage());
        else resolve(toReply(result, rows));
      });
      this.client.query(statement);
    });
  }

  /**
   * Cancels as psql does, by process id and secret key over a separate connection. This works even if Postgres has no
   * connection left, and it can't affect another session.
   */
  private async cancel(statement: Promise<unknown>): Promise<void> {
    const request = Buffer.alloc(16);
    const processId = Number(Reflect.get(this.client, 'processID'));
    const secretKey = Number(Reflect.get(this.client, 'secretKey'));
    [request.length, CANCEL_REQUEST, processId, secretKey].forEach((value, index) => {
      request.writeInt32BE(value, index * 4);
    });
    const ended = new AbortController();
    statement.catch(() => {}).finally(() => ended.abort());
    while (!ended.signal.aborted) {
      const socket = connect(this.options.postgresPort, LOOPBACK);
      socket.end(request);
      await once(socket, 'close').catch(() => {});
      await sleep(CANCEL_EVERY_MS, undefined, { signal: ended.signal }).catch(() => {});
    }
  }
}

class Statement extends pg.Query<(string | null)[]> {
  /**
   * COPY FROM STDIN. node-postgres would answer that it has no data and then wait forever, because Postgres ignores the
   * Sync message that was sent before. This error closes the connection, which ends the COPY.
   */
  handleCopyInResponse(): void {
    this.emit('error', unexpectedMessage());
  }
}

/** The proxy's error for COPY, which it doesn't support. */
function unexpectedMessage(): NeonError {
  return new NeonError(400, 'unexpected message from server');
}

function toReply(result: pg.QueryResultBase, rows: Reply['rows']): Reply {
  return {
    fields: result.fields,
    rows,
    // Postgres returns no command for an empty query.
    command: result.command ?? '',
    rowCount: result.rowCount,
    rowAsArray: true,
  };
}

/** Neon runs this before a connection returns to its pool, so that no session state reaches the next request. */
const RESET = `
  ROLLBACK; CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; DEALLOCATE ALL; UNLISTEN *;
  SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES`;

/** The number of idle connections that Neon keeps for an endpoint. If none is idle, a request opens another. */
const MAX_IDLE = 20;

/** Neon keeps them for 5 minutes. This is shorter because `drop database` fails while a connection is open. */
const IDLE_MS = 5000;

/** Returns every value in Postgres's text format. */
const AS_TEXT = { getTypeParser: () => (value: string) => value };

/** Connections to Postgres, pooled for each role and database, as in Neon's proxy. */
export class Sessions {
  private readonly pools = new Map<string, pg.Pool>();
  private readonly options: Pick<SessionOptions, 'postgresPort' | 'maxBytes'>;

  constructor(options: Pick<SessionOptions, 'postgresPort' | 'maxBytes'>) {
    this.options = options;
  }

  /** Runs the work of one request in its own session. */
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
      // After any other error, the connection may be in the middle of a statement or an answer.
      reusable = error instanceof pg.DatabaseError;
      throw error;
    } finally {
      // If the request hung up, don't reuse its connection, because a late cancel would hit the next request.
      const clean = reusable && !hungUp.aborted && (await isReset(client));
      client.release(!clean || this.idleConnections() >= MAX_IDLE);
    }
  }

  /** Resolves when the last request has returned its connection. */
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
    // Without listeners, losing a connection would end the process.
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
