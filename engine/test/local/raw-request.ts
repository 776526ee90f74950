import type { TestDatabase } from '../database.ts';

export interface RawRequest {
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
  readonly headers?: Record<string, string>;
  readonly path?: string;
  readonly method?: string;
  readonly port?: number;
  readonly signal?: AbortSignal;
}

/** Sends what the driver would send, except for the things that a test changes. */
export function rawRequest({ stack }: TestDatabase, request: RawRequest): Promise<Response> {
  const { body, headers, path = '/sql', method = 'POST', port = stack.neon.port, signal } = request;
  const url = stack.databaseUrl;
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: {
      'neon-connection-string': url,
      'neon-raw-text-output': 'true',
      'neon-array-mode': 'true',
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
    ...(signal ? { signal } : {}),
  });
}

/** The connection string of the database with some parts replaced. */
export function connectionString({ stack }: TestDatabase, change: (url: URL) => void): string {
  const url = new URL(stack.databaseUrl);
  change(url);
  return url.href;
}
