import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { LOOPBACK, listen } from '../../lib/port.ts';
import { answer } from './answer.ts';
import type { NeonRequest } from './request.ts';
import { Sessions } from './session.ts';

export type { NeonRequest };

/** Faults between a Worker and Neon, which tests inject. */
export type Fault =
  /** The compute must wake up before it runs the request. */
  | { kind: 'slow'; ms: number }
  /** An error of Neon's control plane: an HTTP 500 with JSON. */
  | { kind: 'server error'; message?: string }
  /** A pooled connection was lost: an HTTP 400 with an empty code. Nothing has run. */
  | { kind: 'connection died' }
  /** Any other error of Neon's proxy or, with a code, of Postgres. Nothing has run. */
  | { kind: 'error'; status: number; code: string; message: string }
  /** Something between the Worker and Neon answers instead. */
  | { kind: 'not JSON'; status?: number }
  /** Everything was committed, but the answer is lost. */
  | { kind: 'reply dropped' }
  /** The connection is closed without an answer. Nothing has run. */
  | { kind: 'refused' };

/** An error of Postgres or, without a code, of Neon's proxy. */
export interface Refusal {
  readonly code: string | null;
  readonly message: string;
  readonly detail: string | null;
}

export interface LocalNeon {
  readonly port: number;
  /** Called for every request. Returns a fault to inject. */
  fault: ((request: NeonRequest) => Fault | undefined) | undefined;
  /** Called for every error answer. `npm run dev` prints Postgres's message. */
  onRefusal: ((refusal: Refusal) => void) | undefined;
  /** Cancels running statements, and resolves when none is left. */
  close(): Promise<void>;
}

export interface NeonOptions {
  readonly postgresPort: number;
  readonly port?: number;
  /** The limit for requests and answers. Neon documents 64 MB. */
  readonly maxBytes?: number;
}

/**
 * Neon's SQL over HTTP, on a local Postgres. Its answers follow Neon's open-source proxy.
 *
 * Like a Neon host, the same port also accepts PostgreSQL's own protocol, so that one DATABASE_URL works for the
 * Workers, drizzle-kit and psql.
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
      // Closing its socket cancels a request's statement.
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
