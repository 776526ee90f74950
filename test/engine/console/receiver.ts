// The receiver with its console, called in Node: for tests that need another clock, another environment or another host
// than a Worker on this machine has.
import { createConsole } from '../../../src/console/index.tsx';
import { createReceiver } from '../../../src/receiver/app.ts';
import { learnCredentials, searchAnswer } from '../canaries/answers.ts';
import { learn, search } from '../canaries/canaries.ts';
import { sources } from '../fixture/sources.ts';

export const TOKEN = 'an-operator-token-of-more-than-32-characters';

export interface Call {
  readonly env?: Record<string, unknown>;
  readonly now?: Date;
  readonly fetch?: typeof fetch;
}

learn('operator token', TOKEN);

/** Rate limits that always allow. */
export const allowing = { limit: async () => ({ success: true }) };

/** Answers requests with one console, and keeps the lines of its log. */
export function startConsole({ env = {}, now = new Date(), fetch: fetcher }: Call = {}) {
  const lines: object[] = [];
  const sent: unknown[] = [];
  const queue = {
    sendBatch: async (messages: { body: unknown }[]) => sent.push(...messages.map(({ body }) => body)),
    metrics: async () => ({ backlogCount: 3, backlogBytes: 30 }),
  };
  const time = { now };
  const receiver = createReceiver({
    sources,
    now: () => time.now,
    log: (line) => {
      search(JSON.stringify(line), 'the log of the console');
      lines.push(line);
    },
    createConsole: (dependencies) => createConsole({ ...dependencies, ...(fetcher ? { fetch: fetcher } : {}) }),
  });
  const bindings = { EVENTS: queue, EFFECTS: queue, OPS_SIGN_INS: allowing, OPS_REQUESTS: allowing, ...env };
  const call = async (
    path: string,
    init: RequestInit = {},
    host = 'https://hooks.example.com',
    context?: ExecutionContext,
  ) => {
    const request = new Request(new URL(path, host), { redirect: 'manual', ...init });
    learnCredentials(request.headers);
    const answer = await receiver.fetch(request, bindings as unknown as ReceiverEnv, context);
    await searchAnswer(answer.clone(), request.url);
    return answer;
  };
  const bearer = { authorization: `Bearer ${TOKEN}` };
  return {
    call,
    lines,
    sent,
    time,
    get: (path: string) => call(path, { headers: bearer }),
    post: (path: string, body?: unknown) =>
      call(path, {
        method: 'POST',
        headers: { ...bearer, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  };
}
