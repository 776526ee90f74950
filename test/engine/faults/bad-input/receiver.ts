import { Agent, type OutgoingHttpHeaders, request } from 'node:http';
import { madeUpSecrets, signingKeyName } from '../../../../scripts/local/dev-vars.ts';
import { LOOPBACK } from '../../../../scripts/local/port.ts';
import { Signer } from '../../../../src/console/session.ts';
import { secretName } from '../../../../src/receiver/secrets.ts';
import { type TestDatabase, useDatabase } from '../../database.ts';
import { type PlainWorkerd, usePlainWorkerd } from '../../receiver/plain/workerd.ts';
import { sources } from './sources.ts';

export const TOKEN = 'an-operator-token-of-more-than-32-characters';

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
  readonly text: string;
  readonly ms: number;
}

export interface HostileReceiver {
  readonly database: TestDatabase;
  readonly workerd: PlainWorkerd;
  /** The key with which a provider's source is signed. */
  readonly signingKey: (source: string) => string;
  /** For the forms of the console, where it is open. */
  readonly formToken: () => Promise<string>;
  readonly send: (sent: Sent) => Promise<Answer>;
  /** How many events there are of sources whose keys nobody has. */
  readonly forged: () => Promise<number>;
}

/** Far more than a delivery waits for its body (10 s), the claim and the queue, because the machine may be slow. */
const LONGEST_ANSWER_MS = 60_000;

/** The receiver as it is deployed, in workerd alone, so that its memory can be measured. */
export function useHostileReceiver(): HostileReceiver {
  const database = useDatabase();
  const secrets = madeUpSecrets(sources);
  const databaseUrl = () => database.stack.workerUrls.receiver;
  const workerd = usePlainWorkerd(
    'test/engine/faults/bad-input/wrangler.toml',
    () => ({ ...secrets, OPS_TOKEN: TOKEN, DATABASE_URL: databaseUrl() }),
    { queues: ['EVENTS', 'EFFECTS'] },
  );
  const agent = new Agent({ keepAlive: true });
  return {
    database,
    workerd,
    // Without OPS_TOKEN, the forms of the console are signed with its DATABASE_URL, for an operator of this name.
    formToken: () => new Signer(databaseUrl()).formToken('local'),
    signingKey: (source) => secrets[signingKeyName(source)] ?? secrets[secretName(source)] ?? '',
    send: (sent) => send(sent, workerd.port, agent),
    forged: async () => {
      const count = `select count(*)::int as count from webhook_events where source like '%-unknown'`;
      return (await database.sql<{ count: number }>(count))[0]?.count ?? 0;
    },
  };
}

function send(sent: Sent, port: number, agent: Agent | false): Promise<Answer> {
  const { method, path, headers, body } = sent;
  const started = performance.now();
  return new Promise((resolve) => {
    let text = '';
    const end = (status?: number) => resolve({ status, text, ms: performance.now() - started });
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
      response.setEncoding('utf8').on('data', (chunk) => (text += chunk));
      response.on('end', () => end(response.statusCode));
      response.on('error', () => end());
    });
    sending.end(body);
  });
}
