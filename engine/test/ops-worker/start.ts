// The ops Worker, called in Node: for tests that need another clock, environment or host than a Worker on this machine
// has.
import { Hono } from 'hono';
import type { OpsDependencies } from '../../src/ops/api.ts';
import { createOps } from '../../src/ops/app.tsx';
import { learnCredentials, searchAnswer } from '../canaries/answers.ts';
import { learn, search } from '../canaries/canaries.ts';
import { sources as fixtureSources } from '../fixture/sources.ts';

/** With a colon, because one ends the name before a password. */
export const TOKEN = 'an-operator-token:of-more-than-32-characters';
learn('operator token', TOKEN);

/** A `ctx.access`, as the runtime fills it. */
export function access(aud: string, identity?: Record<string, unknown>): CloudflareAccessContext {
  return { aud, getIdentity: async () => identity };
}

/** As a browser sends the token after its user has typed it. */
export function basic(name: string, password = TOKEN): { authorization: string } {
  return { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` };
}

export const BEARER = { authorization: `Bearer ${TOKEN}` };

interface Options {
  readonly sources?: OpsDependencies['sources'];
  readonly name?: string;
  readonly env?: Record<string, unknown>;
  readonly now?: Date;
  /** Whom Cloudflare Access has let in. */
  readonly access?: CloudflareAccessContext;
}

/** Answers requests with one ops Worker, and keeps the lines of its log and the tickets it sends. */
export function startOpsWorker({ sources = fixtureSources, name, env = {}, now = new Date(), access }: Options = {}) {
  const lines: object[] = [];
  const sent: unknown[] = [];
  const queue = {
    sendBatch: async (messages: { body: unknown }[]) => sent.push(...messages.map(({ body }) => body)),
    metrics: async () => ({ backlogCount: 3, backlogBytes: 30 }),
  };
  const time = { now };
  const ops = createOps({
    sources,
    name,
    now: () => time.now,
    log: (line) => {
      search(JSON.stringify(line), 'the log of the ops Worker');
      lines.push(line);
    },
  });
  const worker = new Hono<{ Bindings: OpsEnv }>().route('/ops', ops);
  const bindings = { EVENTS: queue, EFFECTS: queue, ...env };
  const context = { access, waitUntil: () => {}, passThroughOnException: () => {}, props: {} };
  const call = async (path: string, init: RequestInit = {}, host = 'https://ops.example.com') => {
    const request = new Request(new URL(path, host), { redirect: 'manual', ...init });
    learnCredentials(request.headers);
    const answer = await worker.fetch(request, bindings as unknown as OpsEnv, context);
    await searchAnswer(answer.clone(), request.url);
    return answer;
  };
  return {
    call,
    lines,
    sent,
    time,
    get: (path: string) => call(path, { headers: BEARER }),
    post: (path: string, body?: unknown) =>
      call(path, {
        method: 'POST',
        headers: { ...BEARER, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  };
}
