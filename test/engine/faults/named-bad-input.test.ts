import { createHash, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { providers } from '../../../src/providers/index.ts';
import { signed } from './bad-input/deliveries.ts';
import { type Sent, useHostileReceiver } from './bad-input/receiver.ts';

const receiver = useHostileReceiver();
const { send, database } = receiver;

/** A delivery of a source, signed correctly, with this body. */
const deliver = (source: string, body: string): Sent =>
  signed({ kind: 'delivery', source, method: 'POST', body, headers: {}, query: {}, flipped: [] }, receiver);
const unsigned = (headers: Sent['headers'], path = '/webhooks/stripe'): Sent => ({
  method: 'POST',
  path,
  headers: { host: '127.0.0.1', ...headers },
  body: Buffer.from('{}'),
});
const statusOf = async (sent: Sent) => (await send(sent)).status;

/** Far more than any case of this file costs, because the machine may be slow or busy. */
const SOON_MS = 10_000;

/** Sends the parts of a raw request, one each second, and resolves to the status line of the answer. */
function trickle(parts: readonly string[]): Promise<{ answer: string; ms: number }> {
  const started = performance.now();
  return new Promise((resolve) => {
    const socket = connect(receiver.workerd.port, '127.0.0.1');
    const rest = [...parts];
    const write = () => {
      const part = rest.shift();
      if (part !== undefined) socket.write(part);
    };
    const timer = setInterval(write, 1000);
    let text = '';
    socket.on('connect', write).on('error', () => {});
    socket.on('data', (chunk) => {
      text += chunk;
      socket.destroy();
    });
    socket.on('close', () => {
      clearInterval(timer);
      resolve({ answer: text.split('\r\n')[0] ?? '', ms: performance.now() - started });
    });
  });
}

function rawHead(length: number, { headers } = deliver('gethook', '{}')): string {
  const lines = Object.entries({ ...headers, 'content-length': length }).map(([name, value]) => `${name}: ${value}`);
  return ['POST /webhooks/gethook HTTP/1.1', ...lines, '', ''].join('\r\n');
}

it('a body that arrives one byte a second, and a body that ends before its announced length, are answered 503 after ten seconds', async () => {
  const [slow, short] = await Promise.all([trickle([rawHead(60), ...'{}'.padEnd(60)]), trickle([`${rawHead(60)}{}`])]);
  for (const { answer, ms } of [slow, short]) {
    expect(answer).toBe('HTTP/1.1 503 Service Unavailable');
    expect(ms).toBeGreaterThan(9500);
    expect(ms).toBeLessThan(9500 + SOON_MS);
  }
});

it('a body that goes on behind its announced length is cut there, and the rest is not taken for an event', async () => {
  const event = (id: string) => JSON.stringify({ id, type: 't' });
  const sent = deliver('gethook', event('announced'));
  const { answer } = await trickle([`${rawHead(sent.body.length, sent)}${event('announced')}${event('smuggled')}`]);
  expect(answer).toBe('HTTP/1.1 200 OK');
  const longer = deliver('gethook', `${event('announced')}${event('smuggled')}`);
  expect((await trickle([`${rawHead(sent.body.length, longer)}${event('announced')}`])).answer).toContain('401');
  expect(await database.sql(`select event_id from webhooks.events where source = 'gethook'`)).toEqual([
    { event_id: 'announced' },
  ]);
});

it('ten thousand candidates in the header of a signature are refused at once', async () => {
  const many = (entry: string) => entry.repeat(10_000);
  for (const headers of [
    { 'stripe-signature': `t=${Math.floor(Date.now() / 1000)}${many(',v1=0')}` },
    { 'stripe-signature': many(',') },
    { 'stripe-signature': many('v1=') },
    { 'stripe-signature': many('t=1,v1') },
    { 'stripe-signature': many(' \t') },
  ]) {
    const { status, ms } = await send(unsigned(headers));
    expect([status, ms < SOON_MS]).toEqual([401, true]);
  }
  const { status, ms } = await send(unsigned({ 'webhook-signature': many('v1,AA ') }, '/webhooks/standardwebhooks'));
  expect([status, ms < SOON_MS]).toEqual([401, true]);
});

const KEYS = 50_000;
const id = () => `"id":"${randomUUID()}","type":"t"`;
const signedBodies: Record<string, () => string> = {
  'a number of 500,000 digits': () => `{${id()},"n":${'9'.repeat(500_000)}}`,
  'a number of 500,000 digits behind the point': () => `{${id()},"n":0.${'9'.repeat(500_000)}}`,
  'an exponent of 500,000 digits': () => `{${id()},"n":1e${'9'.repeat(500_000)}}`,
  'fifty thousand numbers that JavaScript rounds': () => `{${id()},"n":[${Array(KEYS).fill('9007199254740993')}]}`,
  'a key of 500,000 characters': () => `{${id()},"${'k'.repeat(500_000)}":1}`,
  'fifty thousand keys': () => `{${id()},${Array.from({ length: KEYS }, (_, n) => `"k${n}":1`)}}`,
  'fifty thousand times the same key': () => `{${Array(KEYS).fill('"k":1')},${id()}}`,
  'keys that every object has': () => `{${id()},"__proto__":{"a":1},"constructor":{},"toString":1,"hasOwnProperty":0}`,
  'an id and a type in __proto__ as well': () => `{"__proto__":{${id()}},${id()}}`,
  '512 levels': () => `{${id()},"a":${'['.repeat(511)}${']'.repeat(511)}}`,
  'escaped NULs and halves of characters': () => `{${id()},"a":"${'\\u0000\\ud800'.repeat(40_000)}"}`,
};
it.each(Object.keys(signedBodies))('a verified body with %s is accepted', async (name) => {
  const { status, ms } = await send(deliver('gethook', signedBodies[name]?.() ?? ''));
  expect([status, ms < SOON_MS]).toEqual([200, true]);
});

const withoutUsableId: Record<string, string> = {
  'its id only in __proto__': '{"__proto__":{"id":"a","type":"t"}}',
  'an id of 500,000 digits': `{"id":${'9'.repeat(500_000)},"type":"t"}`,
  'an id beyond all numbers': '{"id":1e999,"type":"t"}',
  'an id with NUL': '{"id":"a\\u0000","type":"t"}',
  'an id with half a character': '{"id":"\\ud800","type":"t"}',
};
it.each(Object.keys(withoutUsableId))('a verified body with %s is claimed by its content', async (name) => {
  const body = withoutUsableId[name] ?? '';
  const { status, ms } = await send(deliver('gethook', body));
  expect([status, ms < SOON_MS]).toEqual([200, true]);
  const hash = createHash('sha256').update(body).digest('hex');
  expect(await database.sql('select source from webhooks.events where event_id = $1', [hash])).toHaveLength(1);
});

const unclaimable: Record<string, string> = {
  '513 levels': `{"id":"a","a":${'['.repeat(512)}${']'.repeat(512)}}`,
  'half a million brackets': '['.repeat(500_000),
};
it.each(Object.keys(unclaimable))('a verified body with %s is answered 400', async (name) => {
  const { status, ms } = await send(deliver('gethook', unclaimable[name] ?? ''));
  expect([status, ms < SOON_MS]).toEqual([400, true]);
});

it.each(Object.keys(providers))(
  'a delivery of %s with long headers, many parameters and a huge body is refused soon',
  async (name) => {
    const sent = deliver(`${name}-unknown`, '{"a":['.padEnd(900_000, '[1,"\\u0000"],'));
    const path = `${sent.path}?${'a=b&'.repeat(5000)}`;
    const { status = 0, ms } = await send({
      ...sent,
      path,
      headers: { ...sent.headers, 'x-long': 'x'.repeat(20_000) },
    });
    expect([401, 413]).toContain(status);
    expect(ms).toBeLessThan(SOON_MS);
  },
);

it('no source has an event whose delivery was not signed, and the receiver works on', async () => {
  expect(await receiver.forged()).toBe(0);
  expect(await statusOf(deliver('stripe', '{"id":"evt_1","type":"t"}'))).toBe(200);
  expect(receiver.workerd.lines().filter(({ outcome }) => outcome === 'error')).toEqual([]);
});
