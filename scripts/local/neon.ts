import { randomUUID } from 'node:crypto';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import type { Fault } from './faults.ts';
import { NeonError, type Reply, Sessions } from './neon-sessions.ts';
import { LOOPBACK, listen } from './port.ts';

export interface LocalNeon {
  readonly port: number;
  /** Asked for every request; what it returns is done to that request. */
  fault: ((request: NeonRequest) => Fault | undefined) | undefined;
  close(): Promise<void>;
}

export interface NeonRequest {
  readonly query?: string;
  readonly params?: unknown[];
  readonly queries?: { readonly query: string; readonly params?: unknown[] }[];
}

export interface NeonOptions {
  readonly postgresPort: number;
  readonly port?: number;
  /** Neon's documented limit of 64 MB, each way. */
  readonly maxBytes?: number;
}

/**
 * Neon's SQL over HTTP, on a local Postgres. What it answers follows Neon's open-source proxy.
 *
 * The same port also passes PostgreSQL's own protocol on, as a Neon host does: one DATABASE_URL serves the Workers,
 * drizzle-kit and psql.
 */
export async function startNeon({ postgresPort, port = 0, maxBytes = 64_000_000 }: NeonOptions): Promise<LocalNeon> {
  const sessions = new Sessions(postgresPort);
  const sockets = new Set<Socket>();
  const http = createHttpServer((request, response) => {
    void answer(request, response, { sessions, maxBytes, fault: neon.fault });
  });
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    socket.once('data', (first) => {
      socket.pause();
      socket.unshift(first);
      // A PostgreSQL start-up message begins with its length, whose first byte is zero. HTTP begins with a letter.
      if (first[0] === 0) passOn(socket, postgresPort);
      else http.emit('connection', socket);
      socket.resume();
    });
  });

  const neon: LocalNeon = {
    port: await listen(server, port, 'choose another in the DATABASE_URL of .dev.vars'),
    fault: undefined,
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await sessions.close();
    },
  };
  return neon;
}

function passOn(socket: Socket, postgresPort: number): void {
  const upstream = connect(postgresPort, LOOPBACK);
  socket.pipe(upstream).pipe(socket);
  socket.on('close', () => upstream.destroy());
  upstream.on('error', () => socket.destroy());
}

interface Parts {
  readonly sessions: Sessions;
  readonly maxBytes: number;
  readonly fault: LocalNeon['fault'];
}

async function answer(request: IncomingMessage, response: ServerResponse, parts: Parts): Promise<void> {
  response.setHeader('neon-request-id', randomUUID());
  response.setHeader('access-control-allow-origin', '*');
  try {
    if (request.url !== '/sql' || !['POST', 'OPTIONS'].includes(request.method ?? '')) {
      throw new NeonError(400, 'query is not supported');
    }
    if (request.method === 'OPTIONS') return void response.writeHead(204).end();

    const asked = JSON.parse(await readText(request, parts.maxBytes)) as NeonRequest;
    const fault = parts.fault?.(asked);
    if (fault?.kind === 'refused') return void request.socket.destroy();
    if (fault?.kind === 'slow') await new Promise((resolve) => setTimeout(resolve, fault.ms));
    if (fault?.kind === 'server error') throw new NeonError(500, fault.message ?? 'Control plane request failed');
    if (fault?.kind === 'not JSON') return void response.end('<html>');
    if (fault?.kind === 'connection died') throw new NeonError(400, 'connection closed');

    const reply = await run(request, response, asked, parts.sessions);
    if (fault?.kind === 'reply dropped') return void request.socket.destroy();
    const text = JSON.stringify(reply);
    if (text.length > parts.maxBytes) {
      throw new NeonError(507, `response is too large (max is ${parts.maxBytes} bytes)`);
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  } catch (error) {
    const { status, body } = NeonError.from(error);
    if (!response.headersSent)
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }
}

async function run(
  request: IncomingMessage,
  response: ServerResponse,
  asked: NeonRequest,
  sessions: Sessions,
): Promise<Reply | { results: Reply[] }> {
  const header = (name: string) => [request.headers[name] ?? ''].flat().join();
  const session = await sessions.open(header('neon-connection-string'));
  // Whoever hangs up no longer waits for an answer: Neon cancels the running query, and so do we.
  response.on('close', () => {
    if (!response.writableFinished) void session.cancel();
  });
  try {
    if (asked.queries === undefined) return await session.query(asked.query ?? '', asked.params ?? []);
    const batch = {
      isolation: header('neon-batch-isolation-level'),
      readOnly: header('neon-batch-read-only') === 'true',
      deferrable: header('neon-batch-deferrable') === 'true',
    };
    for (const name of ['neon-batch-isolation-level', 'neon-batch-read-only', 'neon-batch-deferrable']) {
      if (header(name)) response.setHeader(name, header(name));
    }
    return { results: await session.batch(asked.queries, batch) };
  } finally {
    await session.release();
  }
}

async function readText(request: IncomingMessage, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > maxBytes) throw new NeonError(413, `request is too large (max is ${maxBytes} bytes)`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
