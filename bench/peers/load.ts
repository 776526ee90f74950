// A program: sends deliveries to a URL, as its parent asks.

import autocannon from 'autocannon';
import { deliveryOf } from '../deliveries.ts';
import type { Job, LoadReport } from '../load.ts';

process.on('message', (job: Job) => void run(job).then((report) => process.send?.(report)));
process.send?.('ready');

let signed: object[] = [];

/** All deliveries are signed first, so that the time of signing isn't measured. */
async function run({ url, source, keys, run, amount, connections, rate, again }: Job): Promise<LoadReport> {
  if (!again) {
    signed = Array.from({ length: amount }, (_, n) => {
      const { headers, body } = deliveryOf(source, keys, run, n);
      return { method: 'POST', path: `/webhooks/${source}`, headers: { 'user-agent': 'bench', ...headers }, body };
    });
  }
  let next = 0;
  const latencies: number[] = [];
  const answers: Record<string, number> = {};
  const count = (status: string) => {
    answers[status] = (answers[status] ?? 0) + 1;
  };
  const started = performance.now();
  // autocannon looks only every now and then whether it has finished.
  let ended = started;
  await new Promise<void>((resolve, reject) => {
    const load = autocannon(
      {
        url,
        connections,
        amount,
        ...(rate && { overallRate: rate }),
        // Every request is taken from the list once: the events of two requests are never the same.
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
