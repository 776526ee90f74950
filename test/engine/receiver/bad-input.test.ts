import { createHash, createHmac, randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { startWorkers } from '../../../scripts/local/workers.ts';
import { FIXTURE, searchLog, useRunning } from '../running.ts';
import { type Name, type SignedDelivery, signers } from '../signatures.ts';

const PREVIOUS = 'the secret before this one';
const running = useRunning({ secrets: { STRIPE_WEBHOOK_SECRET_PREVIOUS: PREVIOUS } });
const { post, sign, sql } = running;

const LIMIT = 1024 * 1024;
const body = () => JSON.stringify({ id: `evt_${randomUUID()}`, type: 'test', created: 1_770_000_000 });

const REFUSED = { type: 'about:blank', title: 'The signature is missing, wrong or stale', status: 401 };
const TOO_LARGE = { type: 'about:blank', title: 'The body is larger than this source accepts', status: 413 };
const NO_SOURCE = { type: 'about:blank', title: 'There is no such source', status: 404 };
const unclaimable = (detail: string) => ({
  type: 'about:blank',
  title: 'The delivery is signed correctly, but it contains no event that can be claimed',
  status: 400,
  detail,
});

async function answerOf(response: Response) {
  return { status: response.status, type: response.headers.get('content-type'), body: await response.json() };
}

function problem(body: { status: number }) {
  return { status: body.status, type: 'application/problem+json', body };
}

/** None of these deliveries may leave anything in Postgres. */
afterEach(async () => {
  expect(await sql('select event_id from webhooks.events')).toEqual([]);
  expect(await sql('select event_id from webhooks.bodies')).toEqual([]);
});

describe('a delivery whose signature is wrong', () => {
  const stripe = async (change: (header: string) => string): Promise<SignedDelivery> => {
    const signed = await sign('stripe', body());
    return { body: signed.body, headers: { 'stripe-signature': change(signed.headers['stripe-signature'] ?? '') } };
  };
  const cases: Record<string, () => Promise<SignedDelivery>> = {
    'without a signature': async () => ({ body: body(), headers: {} }),
    'with a signature that is not hex': () => stripe((header) => header.replace(/v1=..../, 'v1=zzzz')),
    'with a signature cut short': () => stripe((header) => header.replace(/v1=(.{20}).*/, 'v1=$1')),
    'signed with another secret': () => sign('stripe', body(), { secret: 'not the secret' }),
    'signed at a time in the far future': () => sign('stripe', body(), { now: new Date('2099-01-01') }),
    'with 20 candidate signatures, one of them right': () =>
      stripe((header) => `${header},${Array.from({ length: 19 }, () => `v1=${'0'.repeat(64)}`).join(',')}`),
    'without a timestamp': () => stripe((header) => header.replace(/t=\d+,/, '')),
    'with an empty body that nobody signed': async () => ({ body: '', headers: {} }),
  };
  it.each(Object.keys(cases))('a delivery %s is refused with 401', async (name) => {
    expect(await answerOf(await post('stripe', (await cases[name]?.()) ?? {}))).toEqual(problem(REFUSED));
  });
});

describe('a verified delivery without a claimable event', () => {
  const bytes = (...parts: (string | number[])[]) =>
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));
  const cases: Record<string, [Buffer | string, string]> = {
    'an empty body': ['', 'not JSON'],
    'truncated JSON': ['{"id":"evt_1","type":', 'not JSON'],
    'a JSON array': ['[{"id":"evt_1"}]', 'not a JSON object'],
    'a JSON string': ['"evt_1"', 'not a JSON object'],
    'a JSON null': ['null', 'not a JSON object'],
    'invalid UTF-8': [bytes('{"id":"evt_', [0xff, 0xfe], '"}'), 'not UTF-8'],
    'half a character in raw bytes': [bytes('{"id":"evt_', [0xed, 0xa0, 0x80], '"}'), 'not UTF-8'],
    'a byte order mark': [bytes([0xef, 0xbb, 0xbf], '{"id":"evt_1"}'), 'not JSON'],
    'a raw NUL': [bytes('{"id":"evt_', [0], '"}'), 'not JSON'],
    'arrays nested 100,000 deep': [`{"id":"evt_1","a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'not JSON'],
  };
  it.each(Object.keys(cases))('a verified delivery with %s is answered 400', async (name) => {
    const [sent = '', detail = ''] = cases[name] ?? [];
    const signature = createHmac('sha256', running.secret('gethook')).update(sent).digest('hex');
    const answer = await post('gethook', {
      headers: { 'x-gethook-signature': signature },
      body: typeof sent === 'string' ? sent : new Uint8Array(sent),
    });
    expect(await answerOf(answer)).toEqual(problem(unclaimable(detail)));
  });
});

describe('a verified delivery whose event has no usable id', () => {
  const event = (id: unknown) => JSON.stringify({ id, type: 'test' });
  const claimed = async () => {
    const rows = await sql<{ event_id: string }>('select event_id from webhooks.events');
    await sql('truncate webhooks.events cascade');
    return rows.map((row) => row.event_id);
  };
  const hash = (body: string) => createHash('sha256').update(body).digest('hex');

  // For many providers a 4xx is final, so a 400 would lose the event.
  it.each(
    Object.entries({
      'no id': '{"type":"test"}',
      'an empty id': event(''),
      'an id of blanks': event('   '),
      'an id of 2 KB': event('x'.repeat(2048)),
      'an id with a control character': event('evt\u0000_1'),
      'an id with a line break': event('evt\n_1'),
      'an id with half a character': '{"id":"evt_\\ud800"}',
      'an id that is an object': event({ toString: 'evt_1' }),
      'an id that is a list': event(['evt_1']),
    }),
  )('is claimed once by its content: %s', async (_what, sent) => {
    const signed = await sign('gethook', sent);
    const answers = [await post('gethook', signed), await post('gethook', signed)];
    expect(await Promise.all(answers.map((answer) => answer.json()))).toEqual([
      { status: 'accepted' },
      { status: 'duplicate' },
    ]);
    expect(await claimed()).toEqual([hash(signed.body)]);
  });

  it.each(['', ' ', 'x'.repeat(2048)])('is claimed by its content if the id in a header is %j', async (id) => {
    const signed = await sign('github', '{}', { id: 'replaced' });
    const headers = { ...signed.headers, 'x-github-delivery': id };
    expect(await (await post('github', { ...signed, headers })).json()).toEqual({ status: 'accepted' });
    expect(await claimed()).toEqual([hash(signed.body)]);
  });
});

describe('a request that is not a delivery', () => {
  it.each(['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'])(
    'a request with the method %s is answered 405 with Allow',
    async (method) => {
      const answer = await fetch(`${running.workers.url}webhooks/stripe`, { method });
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
    },
  );

  it.each(['nobody', 'constructor', '__proto__', 'stripe%2f', '%00', 'stripe/more', ''])(
    'a delivery to the source %j is answered 404',
    async (source) => {
      const answer = await post(source, await sign('stripe', body()));
      expect(answer.status).toBe(404);
      expect(await answerOf(answer)).toEqual(problem(NO_SOURCE));
    },
  );
});

describe('a body over the limit', () => {
  const oversize = (length: number) => `{"id":"evt_1","pad":"${'x'.repeat(length - 24)}"}`.padEnd(length);

  it('a body over the limit whose length is announced is answered 413', async () => {
    const signed = await signers.stripe(oversize(LIMIT + 1), { secret: running.secret('stripe') });
    expect(signed.body.length).toBe(LIMIT + 1);
    expect(await answerOf(await post('stripe', signed))).toEqual(problem(TOO_LARGE));
  });

  it('a body over the limit that is sent in chunks is answered 413', async () => {
    const signed = await signers.stripe(oversize(LIMIT + 1), { secret: running.secret('stripe') });
    expect(signed.body.length).toBe(LIMIT + 1);
    expect(await postChunked(`${running.workers.url}webhooks/stripe`, signed)).toEqual(TOO_LARGE);
  });
});

it('a delivery to a source without a secret is answered 503, and the log names the missing variable once', async () => {
  const without = await startWorkers(running.stack, { ...FIXTURE, secrets: { SESMETRIC_WEBHOOK_SECRET: '' } });
  try {
    const deliver = async (source: Name) =>
      fetch(`${without.url}webhooks/${source}`, { method: 'POST', ...(await sign(source, body(), { secret: 'any' })) });
    const answers = [await deliver('sesmetric'), await deliver('sesmetric')];
    expect(answers.map(({ status, headers }) => [status, headers.get('retry-after')])).toEqual([
      [503, '30'],
      [503, '30'],
    ]);
    const lines = without.harness.getLogs().filter(({ message }) => message.includes('SESMETRIC_WEBHOOK_SECRET'));
    expect(lines).toHaveLength(1);
  } finally {
    searchLog(without);
    await without.harness.close();
  }
});

it('a delivery to a source whose secret is not in the form of its provider is answered 503', async () => {
  const malformed = await startWorkers(running.stack, {
    ...FIXTURE,
    secrets: { STANDARDWEBHOOKS_WEBHOOK_SECRET: 'not base64!' },
  });
  try {
    const signed = await sign('standardwebhooks', body());
    const answer = await fetch(`${malformed.url}webhooks/standardwebhooks`, { method: 'POST', ...signed });
    expect(answer.status).toBe(503);
    expect(malformed.harness.getLogs().some(({ message }) => message.includes('STANDARDWEBHOOKS_WEBHOOK_SECRET'))).toBe(
      true,
    );
  } finally {
    searchLog(malformed);
    await malformed.harness.close();
  }
});

it('a delivery signed with the previous secret is accepted while that secret is set', async () => {
  const signed = await sign('stripe', body(), { secret: PREVIOUS });
  expect((await post('stripe', signed)).status).toBe(200);
  await sql('truncate webhooks.events cascade');
});

function postChunked(url: string, { headers, body: sent }: SignedDelivery): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method: 'POST', headers: { ...headers, 'transfer-encoding': 'chunked' } });
    outgoing.on('response', async (response) => {
      let text = '';
      for await (const chunk of response) text += chunk;
      resolve(JSON.parse(text));
    });
    // The receiver stops reading at the limit, so that the rest can't be sent.
    outgoing.on('error', reject);
    for (let at = 0; at < sent.length; at += 65_536) outgoing.write(sent.slice(at, at + 65_536));
    outgoing.end();
  });
}
