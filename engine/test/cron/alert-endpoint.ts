import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { listen } from '../../cli/lib/port.ts';
import { search } from '../canaries/canaries.ts';

interface Posted {
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** An endpoint that alerts are posted to. It starts each test with no posts, and answers 204 as Discord does. */
export function useAlertEndpoint() {
  const endpoint = { url: '', posts: [] as Posted[], answer: { status: 204, headers: {} } };
  const server = createServer(async (request, response) => {
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const body = await text(request);
    search(body, 'an alert');
    endpoint.posts.push({ headers, body });
    response.writeHead(endpoint.answer.status, endpoint.answer.headers).end();
  });
  beforeAll(async () => {
    endpoint.url = `http://127.0.0.1:${await listen(server, 0)}/hooks/canary-in-the-url`;
  });
  beforeEach(() => Object.assign(endpoint, { posts: [], answer: { status: 204, headers: {} } }));
  afterAll(() => server.close());
  return endpoint;
}
