// A program: `node engine/bench/peers/delay.ts <port of Postgres>`. A proxy to Postgres that delays answers by as many
// milliseconds as its parent sends.

import { type AddressInfo, connect, createServer } from 'node:net';

const postgres = Number(process.argv[2]);
let latencyMs = 0;

const server = createServer((client) => {
  const wire = connect(postgres, '127.0.0.1').setNoDelay();
  client.setNoDelay().pipe(wire);
  wire.on('data', (chunk) => setTimeout(() => client.write(chunk), latencyMs));
  wire.on('close', () => client.destroy());
  client.on('close', () => wire.destroy());
  for (const socket of [client, wire]) socket.on('error', () => {});
});
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));

process.on('message', (ms: number) => {
  latencyMs = ms;
  process.send?.('set');
});
