// A program that sends deliveries to a URL for its parent.

import autocannon from 'autocannon';
import { deliveryOf } from '../deliveries.ts';
import type { Answers, Job, LoadReport } from '../load.ts';

process.on('message', (job: Job) => void run(job).then((report) => process.send?.(report)));
process.send?.('ready');

interface Signed {
  readonly method: 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

type Sent = Omit<LoadReport & Answers, 'signingSeconds'>;

let signed: Signed[] = [];

async function run({
  url,
  source,
  path = `/webhooks/${source}`,
  keys,
  run,
  amount,
  connections,
  rate,
  again,
}: Job): Promise<LoadReport & Answers> {
  const started = performance.now();
  if (!again) {
    signed = Array.from({ length: amount }, (_, n) => {
      const { headers, body } = deliveryOf(source, keys, run, n);
      return { method: 'POST', path, headers: { 'user-agent': 'bench', ...headers }, body };
    });
  }
  const signingSeconds = (performance.now() - started) / 1000;
  return { signingSeconds, ...(await sendAll(url, amount, connections, rate)) };
}

/** Each connection sends its next delivery after an answer, or at its time if there is a rate. */
async function sendAll(url: string, amount: number, connections: number, rate?: number): Promise<Sent> {
  let next = 0;
  const latencies: number[] = [];
  const answers: Record<string, number> = {};
  const count = (status: string) => {
    answers[status] = (answers[status] ?? 0) + 1;
  };
  const started = performance.now();
  let ended = started;
  await new Promise<void>((resolve, reject) => {
    const load = autocannon(
      {
        url,
        connections,
        amount,
        ...(rate && { overallRate: rate }),
        // How often to check for the end. The default of a second is longer than most measurements.
        sampleInt: 50,
        // Use each request once, so that no two requests have the same events.
        requests: [{ setupRequest: (request) => Object.assign(request, signed[next++ % amount]) }],
      },
      (error) => (error ? reject(error) : resolve()),
    );
    load.on('response', (_client, status, _bytes, ms) => {
      latencies.push(ms);
      ended = performance.now();
      count(String(status));
    });
    load.on('reqError', () => count('no answer'));
  });
  return { seconds: (ended - started) / 1000, latencies, answers };
}
