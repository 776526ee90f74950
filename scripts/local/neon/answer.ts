import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalNeon } from './endpoint.ts';
import { NeonError, readBody, readConnection, readTransaction } from './request.ts';
import type { Sessions } from './session.ts';

export interface Endpoint {
  readonly sessions: Sessions;
  readonly maxBytes: number;
  readonly fault: LocalNeon['fault'];
  readonly onRefusal: LocalNeon['onRefusal'];
}

/** Neon lets a page in a browser send these headers, and lets the browser remember it for a day. */
const PREFLIGHT = {
  allow: 'OPTIONS, POST',
  'access-control-allow-headers': [
    'Authorization',
    'Neon-Connection-String',
    'Neon-Raw-Text-Output',
    'Neon-Array-Mode',
    'Neon-Pool-Opt-In',
    'Neon-Batch-Read-Only',
    'Neon-Batch-Isolation-Level',
  ].join(', '),
  'access-control-max-age': '86400',
};

/** Answers one HTTP request. Never rejects. */
export async function answer(request: IncomingMessage, response: ServerResponse, endpoint: Endpoint): Promise<void> {
  const hungUp = new AbortController();
  response.on('close', () => hungUp.abort());
  response.setHeader('neon-request-id', randomUUID());
  const path = request.url?.split('?')[0];
  if (path !== '/sql' || !['POST', 'OPTIONS'].includes(request.method ?? '')) {
    // The proxy answers with this one text in JSON, unlike all other errors.
    return send(response, 400, 'query is not supported');
  }
  response.setHeader('access-control-allow-origin', '*');
  if (request.method === 'OPTIONS') return void response.writeHead(200, PREFLIGHT).end();
  try {
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
  const transaction = readTransaction(request.headers);
  const asked = await readBody(request, maxBytes);

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
    queries ? { results: await session.batch(queries, transaction) } : session.query(query ?? '', params),
  );
  if (fault?.kind === 'reply dropped') return void request.socket.destroy();
  send(response, 200, answered, queries ? transaction.headers : {});
}

function send(response: ServerResponse, status: number, body: unknown, headers: OutgoingHttpHeaders = {}): void {
  response.writeHead(status, { ...headers, 'content-type': 'application/json' }).end(JSON.stringify(body));
}
