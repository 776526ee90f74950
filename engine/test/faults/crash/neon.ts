import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { isReadOnly, NeonError, readConnection, readRequest } from '../../../cli/local/neon/request.ts';
import { Sessions } from '../../../cli/local/neon/session.ts';

/** Neon documents this limit. */
const MAX_BYTES = 64_000_000;

/** The local Neon endpoint without HTTP, because thousands of trials would otherwise spend most of their time on HTTP. */
export class NeonInProcess {
  readonly #sessions: Sessions;

  constructor(postgresPort: number) {
    this.#sessions = new Sessions({ postgresPort, maxBytes: MAX_BYTES });
  }

  async answer(init: RequestInit): Promise<Response> {
    try {
      const headers: IncomingHttpHeaders = Object.fromEntries(new Headers(init.headers));
      const request = Readable.from([Buffer.from(String(init.body))]) as IncomingMessage;
      const { query, params = [], queries } = await readRequest(request, MAX_BYTES);
      const neverHungUp = new AbortController().signal;
      const answered = await this.#sessions.use(readConnection(headers), neverHungUp, async (session) =>
        queries ? { results: await session.batch(queries, isReadOnly(headers)) } : session.query(query ?? '', params),
      );
      return Response.json(answered);
    } catch (error) {
      return neonAnswer(NeonError.from(error));
    }
  }

  close(): Promise<void> {
    return this.#sessions.close();
  }
}

export function neonAnswer({ status, body }: NeonError): Response {
  return Response.json(body, { status });
}
