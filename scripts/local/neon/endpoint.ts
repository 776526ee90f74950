import { createServer as createHttpServer } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { LOOPBACK, listen } from '../../lib/port.ts';
import { answer } from './answer.ts';
import type { Fault } from './faults.ts';
import type { NeonRequest } from './request.ts';
import { Sessions } from './sessions.ts';

export type { NeonRequest };

export interface LocalNeon {
  readonly port: number;
  /** Called for every request. The fault that it returns is done to that request. */
  fault: ((request: NeonRequest) => Fault | undefined) | undefined;
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
