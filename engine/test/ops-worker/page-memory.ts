// A process with one ops Worker, as it is built. It asks for an address three times, as a browser does while an event is pending,
// and prints the size of the last answer, and its small print. page-memory.test.ts limits its heap.
import { argv, env } from 'node:process';

const [script = '', path = ''] = argv.slice(2);
const { default: worker } = await import(script);
const headers = { authorization: `Bearer ${env.OPS_TOKEN}` };
for (let times = 1; times <= 3; ) {
  const request = new Request(`https://ops.example.com${path}`, { headers });
  const response: Response = await worker.fetch(request, env, {});
  // On a busy machine Postgres may not answer in time.
  if (response.status === 503) continue;
  const page = await response.text();
  const sentences = Array.from(page.matchAll(/<p class="quiet">(.*?)<\/p>/g), ([, sentence]) => sentence);
  if (times++ === 3) console.log(JSON.stringify({ status: response.status, length: page.length, sentences }));
}
