import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { LOOPBACK } from '../../lib/port.ts';
import { NeonError } from './neon-error.ts';
import { type NeonQuery, type Transaction, toText } from './request.ts';

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

/** The proxy writes the number of parameters as a signed 16-bit integer. Postgres itself allows twice as many. */
const MAX_PARAMS = 32_767;

/** The code of a cancel request in PostgreSQL's protocol. */
const CANCEL_REQUEST = 80_877_102;

/** If the cancel arrives before the statement, it has no effect. So it is repeated. */
const CANCEL_EVERY_MS = 50;

/** The statements of one request, on a connection that no other request uses meanwhile. */
export class Session {
  private readonly client: pg.PoolClient;
  private readonly options: SessionOptions;
  private answerBytes = 0;

  constructor(client: pg.PoolClient, options: SessionOptions) {
    this.client = client;
    this.options = options;
  }

  /** Runs one statement, which is cancelled if the request hangs up. */
  async query(text: string, params: unknown[]): Promise<Reply> {
    const { hungUp } = this.options;
    if (params.length > MAX_PARAMS) {
      throw new NeonError(400, 'error encoding message to server: value too large to transmit');
    }
    hungUp.throwIfAborted();
    const statement = this.run(text, params.map(toText));
    const cancel = () => void this.cancel(statement);
    hungUp.addEventListener('abort', cancel);
    return statement.finally(() => hungUp.removeEventListener('abort', cancel));
  }

  /** After a failure, the caller resets or closes the connection. Both roll the transaction back, so this doesn't. */
  async batch(queries: readonly NeonQuery[], { begin }: Transaction): Promise<Reply[]> {
    await this.client.query(begin);
    const replies: Reply[] = [];
    for (const { query, params } of queries) replies.push(await this.query(query, params));
    // As in the proxy, a hang-up no longer matters: a commit is not cancelled.
    await this.client.query('COMMIT');
    return replies;
  }

  private run(text: string, values: (string | null)[]): Promise<Reply> {
    const { maxBytes } = this.options;
    const statement = new Statement(text, values);
    const rows: Reply['rows'] = [];
    return new Promise((resolve, reject) => {
      statement.on('row', (row) => {
        if (this.answerBytes > maxBytes) return;
        // The benchmarks have no limit.
        if (maxBytes < Number.POSITIVE_INFINITY) this.answerBytes += Buffer.byteLength(JSON.stringify(row)) + 1;
        // This is checked for each row, and so before the commit: a batch whose answer is too large is rolled back.
        if (this.answerBytes > maxBytes) {
          reject(new NeonError(507, `response is too large (max is ${maxBytes} bytes)`));
        } else rows.push(row);
      });
      statement.on('error', reject);
      statement.on('end', (result) => {
        // COPY TO STDOUT. Its rows come in messages of their own, which node-postgres drops.
        if (result.command === 'COPY') reject(unexpectedMessage());
        else resolve(toReply(result, rows));
      });
      this.client.query(statement);
    });
  }

  /**
   * Cancels as psql does: by process id and secret key, over a connection that is only for this. It works even if
   * Postgres has no connection left, and it can't reach another session.
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

/** By the extended protocol, several statements in one string are refused, and so is a wrong number of parameters. */
class Statement extends pg.Query<(string | null)[]> {
  constructor(text: string, values: (string | null)[]) {
    const config: pg.QueryArrayConfig & { queryMode: 'extended' } = {
      text,
      values,
      rowMode: 'array',
      queryMode: 'extended',
    };
    super(config);
  }

  /**
   * COPY FROM STDIN. node-postgres would only answer that it has no data, and then wait without end: Postgres ignores
   * the Sync message that was sent before. This error closes the connection, which ends the COPY.
   */
  handleCopyInResponse(): void {
    this.emit('error', unexpectedMessage());
  }
}

/** The proxy knows no COPY. */
function unexpectedMessage(): NeonError {
  return new NeonError(400, 'unexpected message from server');
}

function toReply(result: pg.QueryResultBase, rows: Reply['rows']): Reply {
  return {
    fields: result.fields.map(({ name, dataTypeID, tableID, columnID, dataTypeSize, dataTypeModifier }) => ({
      name,
      dataTypeID,
      tableID,
      columnID,
      dataTypeSize,
      dataTypeModifier,
      format: 'text',
    })),
    rows,
    // Postgres names no command for an empty query.
    command: result.command ?? '',
    rowCount: result.rowCount,
    rowAsArray: true,
  };
}
