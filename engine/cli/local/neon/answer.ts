import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalNeon } from './endpoint.ts';
import { isReadOnly, NeonError, readConnection, readRequest } from './request.ts';
import type { Sessions } from './session.ts';

export interface Endpoint {
  readonly sessions: Sessions;
  readonly maxBytes: number;
  readonly fault: LocalNeon['fault'];
  readonly onRefusal: LocalNeon['onRefusal'];
}

/** Answers an HTTP request. Never rejects. */
export async function answer(request: IncomingMessage, response: ServerResponse, endpoint: Endpoint): Promise<void> {
  const hungUp = new AbortController();
  response.on('close', () => hungUp.abort());
  try {
    if (request.url !== '/sql' || request.method !== 'POST') throw new NeonError(400, 'query is not supported');
    await run(request, response, endpoint, hungUp.signal);
  } catch (error) {
    const { status, body } = NeonError.from(error);
    endpoint.onRefusal?.(body);
    send(response, status, body);
  }
}

async function run(
  request: IncomingMessage,
  response: ServerResponse,
  { sessions, maxBytes, fault: faultOf }: Endpoint,
  hungUp: AbortSignal,
): Promise<void> {
  const connection = readConnection(request.headers);
  const asked = await readRequest(request, maxBytes);

  const fault = faultOf?.(asked);
  if (fault?.kind === 'refused') return void request.socket.destroy();
  if (fault?.kind === 'slow') await sleep(fault.ms, undefined, { signal: hungUp });
  if (fault?.kind === 'server error') throw new NeonError(500, fault.message ?? 'Control plane request failed');
  if (fault?.kind === 'not JSON') return void response.writeHead(fault.status ?? 200).end('<html>');
  if (fault?.kind === 'error') {
    const { status, message, code } = fault;
    throw new NeonError(status, message, { code, severity: code && 'ERROR' });
  }
  if (fault?.kind === 'connection died') throw new NeonError(400, 'connection closed');

  const { query, params = [], queries } = asked;
  const answered = await sessions.use(connection, hungUp, async (session) =>
    queries
      ? { results: await session.batch(queries, isReadOnly(request.headers)) }
      : session.query(query ?? '', params),
  );
  if (fault?.kind === 'reply dropped') return void request.socket.destroy();
  send(response, 200, answered);
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
