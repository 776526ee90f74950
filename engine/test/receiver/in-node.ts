import type { NewEvent } from '../../src/db/claim.ts';
import type { Source } from '../../src/kit/index.ts';
import { unpack } from '../../src/queue/forwarded.ts';
import type { LogLine } from '../../src/shared/log.ts';
import { learnVariables, searchedLog } from '../canaries/canaries.ts';
import { FakeQueue } from '../fake-queue.ts';
import { mountedReceiver } from '../mounted.ts';

/** Nothing listens at this port, so what is verified goes on the queue. */
const AWAY = 'postgres://user:password@127.0.0.1:1/database';

/** How Neon answers a statement that returned these rows, all with the same fields. */
export function neonAnswer(...rows: readonly object[]): Response {
  // int4, bool or text.
  const typeOf = (value: unknown) => (typeof value === 'number' ? 23 : typeof value === 'boolean' ? 16 : 25);
  const fields = Object.entries(rows[0] ?? {}).map(([name, value]) => ({ name, dataTypeID: typeOf(value) }));
  const written = (value: unknown) => (typeof value === 'boolean' ? (value ? 't' : 'f') : value);
  const texts = rows.map((row) => Object.values(row).map(written));
  return Response.json({ fields, rows: texts, rowCount: rows.length, command: 'SELECT' });
}

interface Options {
  readonly sources: Readonly<Record<string, Source>>;
  /** Added to a Postgres that is away and a queue that takes everything. */
  readonly env?: object;
  readonly now?: () => Date;
  readonly claimTimeoutMs?: number;
}

/** A receiver in this process, with all that it logs and sends. */
export function startReceiver({ sources, env = {}, now = () => new Date(), ...more }: Options) {
  const lines: LogLine[] = [];
  const afterwards: Promise<unknown>[] = [];
  const receiver = mountedReceiver({
    ...more,
    sources,
    now,
    log: (line) => {
      searchedLog(line);
      lines.push(line);
    },
  });
  const EVENTS = new FakeQueue();
  const { tickets, forwarded } = EVENTS;
  const bindings = { DATABASE_URL: AWAY, EVENTS, ...env };
  for (const [name, value] of Object.entries(env)) if (typeof value === 'string') learnVariables({ [name]: value });
  const context = {
    waitUntil: (work: Promise<unknown>) => afterwards.push(work),
    passThroughOnException() {},
    props: {},
  };
  return {
    lines,
    tickets,
    forwarded,
    /** Deliveries are posted. The path may have a query. */
    send: (source: string, init: RequestInit = {}) =>
      receiver.fetch(
        new Request(`https://example.com/webhooks/${source}`, {
          method: 'POST',
          duplex: 'half',
          ...init,
        } as RequestInit),
        bindings as unknown as Env,
        context,
      ),
    /** The events on the queue. */
    events: async (): Promise<readonly NewEvent[]> =>
      (await Promise.all(forwarded.map(unpack))).flatMap((delivery) => delivery?.events ?? []),
    /** All that is done after the answers. */
    settle: () => Promise.all(afterwards),
  };
}
