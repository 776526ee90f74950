import pg from 'pg';
import { LOOPBACK } from './port.ts';

export interface Reply {
  fields: object[];
  rows: (string | null)[][];
  command: string;
  rowCount: number | null;
  rowAsArray: true;
}

export interface Batch {
  readonly isolation: string;
  readonly readOnly: boolean;
  readonly deferrable: boolean;
}

const ISOLATION: Record<string, string> = {
  ReadUncommitted: 'READ UNCOMMITTED',
  ReadCommitted: 'READ COMMITTED',
  RepeatableRead: 'REPEATABLE READ',
  Serializable: 'SERIALIZABLE',
};

/** What Neon runs when a connection goes back to its pool: nothing of a session survives its request. */
const RESET = `
  ROLLBACK; CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ALL; DEALLOCATE ALL; UNLISTEN *;
  SELECT pg_advisory_unlock_all(); DISCARD TEMP; DISCARD SEQUENCES`;

/** As many connections as Neon keeps for an endpoint. */
const POOL_SIZE = 20;

/** Every value as Postgres writes it. */
const AS_TEXT = { getTypeParser: () => (value: string) => value };

/** The keys of an error, always all of them. */
const ERROR_KEYS = [
  'code',
  'detail',
  'hint',
  'position',
  'internalPosition',
  'internalQuery',
  'severity',
  'where',
  'table',
  'column',
  'schema',
  'dataType',
  'constraint',
  'file',
  'line',
  'routine',
] as const;

export class NeonError extends Error {
  readonly status: number;
  readonly facts: object;

  constructor(status: number, message: string, facts: object = { code: '', severity: '' }) {
    super(message);
    this.status = status;
    this.facts = facts;
  }

  get body(): object {
    return { message: this.message, ...Object.fromEntries(ERROR_KEYS.map((key) => [key, null])), ...this.facts };
  }

  static from(error: unknown): NeonError {
    if (error instanceof NeonError) return error;
    if (error instanceof SyntaxError) return new NeonError(400, 'the request is not JSON');
    if (error instanceof pg.DatabaseError) {
      const facts = Object.fromEntries(ERROR_KEYS.map((key) => [key, error[key] ?? null]));
      return new NeonError(400, error.message, facts);
    }
    // node-postgres lost its server while a query was running.
    const message = error instanceof Error ? error.message : String(error);
    return new NeonError(400, `error communicating with the server: ${message}`);
  }
}

/** Pools of connections, one for each role and database, as Neon keeps them. */
export class Sessions {
  private readonly pools = new Map<string, pg.Pool>();
  private readonly postgresPort: number;

  constructor(postgresPort: number) {
    this.postgresPort = postgresPort;
  }

  async open(connectionString: string): Promise<Session> {
    if (!URL.canParse(connectionString)) throw new NeonError(400, 'invalid connection string');
    const url = new URL(connectionString);
    // Of everything a connection string may say, Neon passes on the role and the database.
    const user = decodeURIComponent(url.username);
    const database = decodeURIComponent(url.pathname.slice(1));
    const password = decodeURIComponent(url.password);
    const pool = this.poolFor({ user, database, password });
    try {
      return new Session(await pool.connect(), pool);
    } catch (error) {
      throw refusal(error, user);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.pools.values()].map((pool) => pool.end()));
  }

  private poolFor(who: { user: string; database: string; password: string }): pg.Pool {
    const key = JSON.stringify(who);
    const known = this.pools.get(key);
    if (known) return known;
    const at = { host: LOOPBACK, port: this.postgresPort };
    const pool = new pg.Pool({ ...who, ...at, max: POOL_SIZE, idleTimeoutMillis: 5000, types: AS_TEXT });
    // A connection may die in the pool or in use: the next request gets another, the running query its error.
    pool.on('error', () => {}).on('connect', (client) => client.on('error', () => {}));
    this.pools.set(key, pool);
    return pool;
  }
}

/** A connection that Postgres, or nobody, gave us. */
function refusal(error: unknown, user: string): NeonError {
  const code = error instanceof pg.DatabaseError ? error.code : undefined;
  if (code === '28P01' || code === '28000')
    return new NeonError(400, `password authentication failed for user '${user}'`);
  if (code === '3D000') return NeonError.from(error);
  return new NeonError(
    500,
    code === '53300' ? 'Too many connections to this endpoint' : "Couldn't connect to compute node",
  );
}

export class Session {
  private running = false;
  private readonly client: pg.PoolClient;
  private readonly pool: pg.Pool;

  constructor(client: pg.PoolClient, pool: pg.Pool) {
    this.client = client;
    this.pool = pool;
  }

  /** One statement by the extended protocol: several in one string are refused, and so is a wrong number of parameters. */
  async query(text: string, params: unknown[]): Promise<Reply> {
    const config: pg.QueryArrayConfig & { queryMode: 'extended' } = {
      text,
      values: params.map(toText),
      rowMode: 'array',
      queryMode: 'extended',
    };
    this.running = true;
    const result = await this.client.query(config).finally(() => (this.running = false));
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
      rows: result.rows,
      command: result.command,
      rowCount: result.rowCount,
      rowAsArray: true,
    };
  }

  async batch(queries: readonly { query: string; params?: unknown[] }[], options: Batch): Promise<Reply[]> {
    const { isolation, readOnly, deferrable } = options;
    const level = ISOLATION[isolation] ? ` ISOLATION LEVEL ${ISOLATION[isolation]}` : '';
    const modes = [level, readOnly ? ' READ ONLY' : '', deferrable ? ' DEFERRABLE' : ''].filter(Boolean).join(',');
    await this.client.query(`START TRANSACTION${modes}`);
    const replies: Reply[] = [];
    for (const { query, params = [] } of queries) replies.push(await this.query(query, params));
    await this.client.query('COMMIT');
    return replies;
  }

  async cancel(): Promise<void> {
    if (!this.running) return;
    const pid = Reflect.get(this.client, 'processID');
    await this.pool.query('select pg_cancel_backend($1)', [pid]).catch(() => {});
  }

  async release(): Promise<void> {
    try {
      await this.client.query(RESET);
      this.client.release();
    } catch {
      this.client.release(true);
    }
  }
}

/** Parameters arrive as JSON, and go on as the text that Postgres reads. */
function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return `{${value.map(arrayItem).join(',')}}`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function arrayItem(value: unknown): string {
  if (value === null) return 'NULL';
  if (Array.isArray(value)) return toText(value) ?? 'NULL';
  if (typeof value === 'string') return JSON.stringify(value);
  return typeof value === 'object' ? JSON.stringify(JSON.stringify(value)) : JSON.stringify(value);
}
