// Deliveries through the whole receiver in a process of its own. batch-memory.test.ts limits the memory of that process.

import { secretName } from '../../../src/receiver/secrets.ts';
import { mountedReceiver } from '../../mounted.ts';
import { deliver, providerOf } from '../../verify/deliveries.ts';
import { accepted, documented, largest, refused } from './batch-bodies.ts';

export interface Measured {
  readonly status: number;
  readonly cpuMs: number;
  readonly bodyLength: number;
  readonly requestBytes: number;
  readonly lines: { readonly events?: number; readonly outcome?: string; readonly reason?: string }[];
}

const [what, neon] = process.argv.slice(2);

// In Neon's place. What arrives here has been serialized completely, as for Neon itself.
let requestBytes = 0;
globalThis.fetch = async (_url, init) => {
  requestBytes = Buffer.byteLength(String(init?.body));
  if (neon === 'hangs') return new Promise(() => {});
  return Response.json({ fields: [], rows: [], command: 'SELECT', rowCount: 0, rowAsArray: true });
};

async function measure(provider: string, body: string): Promise<Measured> {
  const sent = deliver(provider, { body, now: new Date(), url: 'https://example.com/webhooks/source' });
  const lines: Measured['lines'] = [];
  const { fetch: receive } = mountedReceiver({
    sources: { source: { provider: providerOf(provider), types: [] } },
    now: () => new Date(),
    log: (line) => lines.push(line as Measured['lines'][number]),
  });
  const env = {
    DATABASE_URL: 'postgres://user:password@localhost/database',
    EVENTS: { send: async () => ({}), sendBatch: async () => ({}) },
    [secretName('source')]: sent.keys.secret,
  };
  const request = new Request(sent.url, { method: 'POST', headers: sent.headers, body: sent.text });
  requestBytes = 0;
  const before = process.cpuUsage();
  const { status } = await receive(request, env as never);
  const { user, system } = process.cpuUsage(before);
  return { status, cpuMs: (user + system) / 1000, bodyLength: body.length, requestBytes, lines };
}

const measured: Record<string, Measured> = {};
for (const [name, { provider, make }] of Object.entries(
  what === 'largest' ? { largest } : { ...documented, ...accepted, ...refused },
)) {
  measured[name] = await measure(provider, make());
}
console.log(JSON.stringify(measured));
