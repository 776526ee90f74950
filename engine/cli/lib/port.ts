import { connect, createServer, type Server } from 'node:net';
import { UserError } from './user-error.ts';

export const LOOPBACK = '127.0.0.1';

/**
 * Many servers have a fixed port below 10000. From 32768 on, Linux assigns ports to any program, so such a port could
 * be taken before our server starts.
 */
const LOWEST = 10_000;
const END = 32_768;

/** Finds a port that is free now. */
export async function freePort(): Promise<number> {
  const port = LOWEST + Math.floor(Math.random() * (END - LOWEST));
  const server = createServer();
  try {
    await listen(server, port);
  } catch {
    return freePort();
  }
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/**
 * Listens on loopback and resolves to the port. If the port is taken, the error ends with `remedy`, which says how to
 * choose another.
 */
export function listen(server: Server, port: number, remedy = ''): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(
        error.code === 'EADDRINUSE'
          ? new UserError(`port ${port} is in use (lsof -i :${port} shows by what): ${remedy}`)
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
