import { createServer, type IncomingMessage, request as requestTo, type ServerResponse } from 'node:http';
import { isLoopback } from '../../src/shared/loopback.ts';
import { LOOPBACK, listen } from '../lib/port.ts';
import { SECRET_HEADER } from '../local/front-header.ts';

/**
 * Everything local comes through here before wrangler sees it. A page of another site may have a name that resolves to
 * 127.0.0.1 (DNS rebinding), and the browser then lets it read our answers: only `Host` tells. Wrangler takes the URL, and
 * with it the host, from a header `MF-Original-URL` of the request, so no Worker can see what `Host` was.
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

/** An absolute URL in the request line would count more than `Host`. */
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
  // If wrangler is away, a caller should see the same as without this proxy.
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  request.pipe(onward);
}
