// One delivery through the whole receiver in a process of its own. batch-memory.test.ts limits the memory of that
// process.
import { readFileSync } from 'node:fs';
import { createReceiver } from '../../../../src/receiver/receive.ts';
import { secretName } from '../../../../src/receiver/secrets.ts';
import { deliver, providerOf } from '../../verify/deliveries.ts';

const [provider = '', neon = 'answers'] = process.argv.slice(2);
const body = readFileSync(0, 'utf8');
const sent = deliver(provider, { body, now: new Date(), url: 'https://example.com/webhooks/source' });

// In Neon's place. What arrives here has been serialized completely, as for Neon itself.
let requestBytes = 0;
globalThis.fetch = async (_url, init) => {
  requestBytes = Buffer.byteLength(String(init?.body));
  if (neon === 'hangs') return new Promise(() => {});
  return Response.json({ fields: [], rows: [], command: 'SELECT', rowCount: 0, rowAsArray: true });
};

const lines: unknown[] = [];
const { fetch: receive } = createReceiver({
  sources: { source: { provider: providerOf(provider), types: [] } },
  now: () => new Date(),
  log: (line) => lines.push(line),
});
const env = {
  DATABASE_URL: 'postgres://user:password@localhost/database',
  EVENTS: { send: async () => ({}), sendBatch: async () => ({}) },
  [secretName('source')]: sent.keys.secret,
};
const request = new Request(sent.url, { method: 'POST', headers: sent.headers, body: sent.text });
const before = process.cpuUsage();
const { status } = await receive(request, env as never);
const { user, system } = process.cpuUsage(before);
console.log(JSON.stringify({ status, cpuMs: (user + system) / 1000, requestBytes, lines }));
