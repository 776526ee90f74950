import { Agent, type OutgoingHttpHeaders, request } from 'node:http';
import { madeUpSecrets, signingKeyName } from '../../../../scripts/config/dev-vars.ts';
import { LOOPBACK } from '../../../../scripts/lib/port.ts';
import { secretName } from '../../../../src/receiver/secrets.ts';
import { type TestDatabase, useDatabase } from '../../database.ts';
import { type PlainWorkerd, usePlainWorkerd } from '../../receiver/plain/workerd.ts';
import { sources } from './sources.ts';

/** One request, as its bytes are sent. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: OutgoingHttpHeaders;
  readonly body: Uint8Array;
}

export interface Answer {
  /** Undefined if the connection was closed without an answer. */
  readonly status: number | undefined;
  readonly ms: number;
}

export interface HostileReceiver {
  readonly database: TestDatabase;
  readonly workerd: PlainWorkerd;
  /** The key with which a provider's source is signed. */
  readonly signingKey: (source: string) => string;
  /** To the receiver, or to another Worker. */
  readonly send: (sent: Sent, to?: PlainWorkerd) => Promise<Answer>;
  /** How many events there are of sources whose keys nobody has. */
  readonly forged: () => Promise<number>;
}

/** Far more than a delivery waits for its body (10 s), the claim and the queue, because the machine may be slow. */
const LONGEST_ANSWER_MS = 60_000;

/** The receiver as it is deployed, in workerd alone, so that its memory can be measured. */
export function useHostileReceiver(): HostileReceiver {
  const database = useDatabase();
  const secrets = madeUpSecrets(sources);
  const workerd = usePlainWorkerd(
    'test/engine/faults/bad-input/wrangler.toml',
    () => ({ ...secrets, DATABASE_URL: database.stack.workerUrls.receiver }),
    { queues: ['EVENTS'] },
  );
  const agent = new Agent({ keepAlive: true });
  return {
    database,
    workerd,
    signingKey: (source) => secrets[signingKeyName(source)] ?? secrets[secretName(source)] ?? '',
    send: (sent, { port } = workerd) => send(sent, port, agent),
    forged: async () => {
      const count = `select count(*)::int as count from webhooks.events where source like '%-unknown'`;
      return (await database.sql<{ count: number }>(count))[0]?.count ?? 0;
    },
  };
}

function send(sent: Sent, port: number, agent: Agent | false): Promise<Answer> {
  const { method, path, headers, body } = sent;
  const started = performance.now();
  return new Promise((resolve) => {
    const end = (status?: number) => resolve({ status, ms: performance.now() - started });
    const timeout = LONGEST_ANSWER_MS;
    const sending = request({ host: LOOPBACK, port, method, path, headers, agent, timeout, setHost: false });
    sending.on('timeout', () => sending.destroy());
    sending.on('error', () => {
      // workerd may close a connection that was kept for the next request at the very moment when that is sent.
      const closedBefore = sending.reusedSocket && performance.now() - started < timeout;
      if (closedBefore) resolve(send(sent, port, false));
      else end();
    });
    sending.on('response', (response) => {
      response.resume().on('end', () => end(response.statusCode));
      response.on('error', () => end());
    });
    sending.end(body);
  });
}
