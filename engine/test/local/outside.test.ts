import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type Outside, startOutside } from '../../cli/local/outside.ts';

let outside: Outside;

beforeAll(async () => {
  outside = await startOutside();
});
afterAll(() => outside.close());

it('a caller that hangs up in the middle of its body disturbs no other', async () => {
  const reported = vi.spyOn(console, 'error');
  const unhandled = vi.fn();
  process.on('unhandledRejection', unhandled);
  const socket = connect(Number(new URL(outside.url).port), '127.0.0.1');
  socket.write('POST /a HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nabc');
  await once(socket, 'connect');
  // Its headers have arrived when another call is answered.
  expect((await fetch(`${outside.url}/b`)).status).toBe(200);
  socket.resetAndDestroy();
  await once(socket, 'close');
  expect((await fetch(`${outside.url}/c`)).status).toBe(200);
  expect(outside.requests.map(({ path }) => path)).toEqual(['/b', '/c']);
  expect([unhandled.mock.calls, reported.mock.calls]).toEqual([[], []]);
  process.off('unhandledRejection', unhandled);
});
