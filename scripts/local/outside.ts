import { createServer, type IncomingMessage } from 'node:http';
import { LOOPBACK, listen } from './port.ts';

/** The world outside, for local runs and tests: a mail service that is asked for receipts, and GitHub's API. */
export interface Outside {
  readonly url: string;
  /** How often each idempotency key came in, and was answered with a 200. */
  readonly receipts: Map<string, number>;
  /** What the mail service answers, where it should fail. */
  answer: ((key: string) => { status: number; headers?: Record<string, string> } | undefined) | undefined;
  close(): Promise<void>;
}

export async function startOutside(port = 0): Promise<Outside> {
  const receipts = new Map<string, number>();
  const server = createServer((request, response) => {
    request.resume();
    const repository = /^\/repos\/([^/]+\/[^/]+)$/.exec(request.url ?? '')?.[1];
    if (request.method === 'GET' && repository) {
      const state = { full_name: repository, default_branch: 'main', pushed_at: new Date().toISOString() };
      return void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(state));
    }
    const key = keyOf(request);
    if (request.method !== 'POST' || request.url !== '/receipts' || !key) return void response.writeHead(404).end();
    const { status, headers } = outside.answer?.(key) ?? { status: 200 };
    if (status === 200) receipts.set(key, (receipts.get(key) ?? 0) + 1);
    response.writeHead(status, headers).end();
  });
  const url = `http://${LOOPBACK}:${await listen(server, port, 'choose another in the RECEIPTS_URL of .dev.vars')}`;
  const outside: Outside = {
    url,
    receipts,
    answer: undefined,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return outside;
}

function keyOf(request: IncomingMessage): string {
  return [request.headers['idempotency-key'] ?? ''].flat().join();
}
