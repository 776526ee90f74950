import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { LOOPBACK, listen } from '../lib/port.ts';

/** A call that a handler or an effect made to the outside. */
export interface OutsideRequest {
  readonly method: string;
  /** The path with the query. */
  readonly path: string;
  readonly idempotencyKey: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly traceparent: string | undefined;
  readonly body: string;
}

/** Replaces the whole outside on this machine, so that local runs never reach a real API. */
export interface Outside {
  readonly url: string;
  /** All calls so far, in order. */
  readonly requests: OutsideRequest[];
  /** Returns the answer or a promise of it: a `Response`, or an object that is sent as JSON. `undefined` means `{}`. */
  answer: ((request: OutsideRequest) => object | undefined) | undefined;
  /** How far the Workers' clock is ahead of the real time, in an app's tests. */
  aheadMs: number;
  /** Called for every request. `npm run dev` prints them. */
  onRequest: ((request: OutsideRequest) => void) | undefined;
  close(): Promise<void>;
}

/** The path at which Workers in tests ask for the time (clock.ts). */
export const CLOCK_PATH = '/claimcheck/clock';

export async function startOutside(port = 0): Promise<Outside> {
  const serve = async (incoming: IncomingMessage, response: ServerResponse) => {
    if (incoming.url === CLOCK_PATH) return void response.end(String(outside.aheadMs));
    const request: OutsideRequest = {
      method: incoming.method ?? '',
      path: incoming.url ?? '',
      idempotencyKey: [incoming.headers['idempotency-key'] ?? []].flat()[0],
      traceparent: [incoming.headers.traceparent ?? []].flat()[0],
      headers: incoming.headers,
      body: await textOf(incoming),
    };
    outside.requests.push(request);
    outside.onRequest?.(request);
    const answer = await responseOf(outside, request);
    response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(Buffer.from(await answer.arrayBuffer()));
  };
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error) => {
      // Ignore a caller that has hung up in the middle of a body.
      if (incoming.complete) console.error('the stand-in for the outside could not answer:', error);
      response.destroy();
    });
  });
  const taken = 'stop what uses it, or delete the lines with this port from .dev.vars';
  const outside: Outside = {
    url: `http://${LOOPBACK}:${await listen(server, port, taken)}`,
    requests: [],
    answer: undefined,
    aheadMs: 0,
    onRequest: undefined,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return outside;
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

async function responseOf({ answer }: Outside, request: OutsideRequest): Promise<Response> {
  try {
    const given = (await answer?.(request)) ?? {};
    // Clone, because a body can be read only once and the next request may get the same Response.
    return given instanceof Response ? given.clone() : Response.json(given);
  } catch (error) {
    console.error('answers in src/samples.ts threw, so the stand-in for the outside answers 500:', error);
    return new Response(null, { status: 500 });
  }
}
