import { connect, createServer, type Server } from 'node:net';
import { describeHolder } from './processes.ts';
import { UserError } from './user-error.ts';

export const LOOPBACK = '127.0.0.1';

/** A port that is free right now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server, 0);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Listens on loopback and resolves to the port. If it is taken, the error ends with `remedy`: how to choose another. */
export function listen(server: Server, port: number, remedy = ''): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new UserError(`port ${port} is taken: ${remedy} (${describeHolder(port)})`)
          : error,
      ),
    );
    server.listen(port, LOOPBACK, () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}

export function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, LOOPBACK);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
