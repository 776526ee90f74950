import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { LOOPBACK, listen } from '../../lib/port.ts';
import { answer } from './answer.ts';
import type { NeonRequest } from './request.ts';
import { Sessions } from './session.ts';

export type { NeonRequest };

/** What can go wrong between a Worker and Neon. Tests inject these on purpose. */
export type Fault =
  /** A compute that wakes up before it runs the request. */
  | { kind: 'slow'; ms: number }
  /** An error of Neon's control plane: an HTTP 500 with JSON. */
  | { kind: 'server error'; message?: string }
  /** A pooled connection was lost: an HTTP 400 with an empty code. Nothing has run. */
  | { kind: 'connection died' }
  /** Any other error, as Neon's proxy answers it. One that is not Postgres's has an empty code. Nothing has run. */
  | { kind: 'error'; status: number; code: string; message: string }
  /** Something on the way to Neon answered in its place. */
  | { kind: 'not JSON'; status?: number }
  /** Everything was committed, but the answer is lost. */
  | { kind: 'reply dropped' }
  /** The connection is closed without an answer. Nothing has run. */
  | { kind: 'refused' };

/** An error of Postgres. One of Neon's proxy has no code. */
export interface Refusal {
  readonly code: string | null;
  readonly message: string;
  readonly detail: string | null;
}

export interface LocalNeon {
  readonly port: number;
  /** Called for every request. The fault that it returns is done to that request. */
  fault: ((request: NeonRequest) => Fault | undefined) | undefined;
  /** Called for every error that it answers: `npm run dev` prints what Postgres said. */
  onRefusal: ((refusal: Refusal) => void) | undefined;
  /** Resolves when no statement of a request runs any more: those that still run are cancelled. */
  close(): Promise<void>;
}

export interface NeonOptions {
  readonly postgresPort: number;
  readonly port?: number;
  /** Neon documents a limit of 64 MB for the request and for the answer. */
  readonly maxBytes?: number;
}

/**
 * Neon's SQL over HTTP, on a local Postgres. Its answers follow Neon's open-source proxy.
 *
 * The same port also passes PostgreSQL's own protocol on, as a Neon host does: one DATABASE_URL serves the Workers,
 * drizzle-kit and psql.
 */
export async function startNeon({ postgresPort, port = 0, maxBytes = 64_000_000 }: NeonOptions): Promise<LocalNeon> {
  const sessions = new Sessions({ postgresPort, maxBytes });
  const sockets = new Set<Socket>();
  const http = createHttpServer((request, response) => {
    void answer(request, response, { sessions, maxBytes, fault: neon.fault, onRefusal: neon.onRefusal });
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
    onRefusal: undefined,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      // For a request its closed socket is a hang-up, which cancels its statement.
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
