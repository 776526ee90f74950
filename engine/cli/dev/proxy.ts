import { createServer, type IncomingMessage, request as requestTo, type ServerResponse } from 'node:http';
import { isLoopback } from '../../src/shared/loopback.ts';
import { LOOPBACK, listen } from '../lib/port.ts';
import { SECRET_HEADER } from '../local/front-header.ts';

/**
 * All local requests pass this proxy before they reach wrangler. The name of another site may resolve to 127.0.0.1 (DNS
 * rebinding), and the browser then lets that site read our answers. Only the `Host` header reveals this. Workers can't
 * check it, because wrangler takes the URL from a request header `MF-Original-URL`, which a page can set.
 */
export async function startProxy(port: number, to: { port: number; secret: string }, remedy: string) {
  const server = createServer((request, response) => {
    if (isForUs(request)) return passOn(request, response, to);
    response.writeHead(403, { connection: 'close' }).end('Only localhost and 127.0.0.1 are answered here.\n');
  });
  await listen(server, port, remedy);
  return async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
}

/** An absolute URL in the request line would take precedence over `Host`. */
function isForUs({ headers: { host }, url }: IncomingMessage): boolean {
  return url?.startsWith('/') === true && isLoopback(URL.parse(`http://${host}`)?.hostname);
}

function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  { port, secret }: { port: number; secret: string },
) {
  const { method, url: path, rawHeaders } = request;
  const headers = rawHeaders.flatMap((name, index) => {
    if (index % 2 === 1 || /^mf-/i.test(name) || name.toLowerCase() === SECRET_HEADER) return [];
    return [name, rawHeaders[index + 1] ?? ''];
  });
  headers.push(SECRET_HEADER, secret);
  const onward = requestTo({ host: LOOPBACK, port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.pipe(response);
  });
  // If wrangler is down, behave as if there were no proxy.
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}
