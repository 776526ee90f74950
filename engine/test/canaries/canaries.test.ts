import { randomBytes } from 'node:crypto';
import { globSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { startOpsWorker, TOKEN } from '../ops-worker/start.ts';
import { OPS, searchLog, searchTables, useRunning } from '../running.ts';
import { searchAnswer } from './answers.ts';
import { BODY_MARK, type Kind, learn, search, takeLeaks } from './canaries.ts';
import { searchCommand } from './commands.ts';

const running = useRunning({ consumer: undefined, ...OPS });
const { post, sign, sql } = running;

/** What these tests let leak on purpose is forgotten, before the hooks of all test files see it. */
afterEach(takeLeaks);
afterAll(async () => {
  running.workers.harness.clearLogs();
  await sql('delete from webhooks.events');
});

const secret = () => randomBytes(32).toString('base64');
const leak = (kind: Kind, where: string) => expect.stringContaining(`${where} shows a canary (${kind})`);

describe('a canary is found', () => {
  it.each<[string, (value: string) => string]>([
    ['as it is', (value) => value],
    ['in upper case', (value) => value.toUpperCase()],
    ['as JSON in JSON', (value) => JSON.stringify(JSON.stringify({ value }))],
    ['percent-encoded', encodeURIComponent],
    ['as hex', (value) => Buffer.from(value).toString('hex')],
    ['as base64', (value) => Buffer.from(value).toString('base64')],
    ['as base64 behind one character', (value) => Buffer.from(`x${value}`).toString('base64')],
    ['as base64url behind two characters', (value) => Buffer.from(`xy${value}z`).toString('base64url')],
    ['as the hex of the key that it encodes', (value) => Buffer.from(value, 'base64').toString('hex')],
    ['without its beginning and its end', (value) => value.slice(9, -9)],
  ])('%s', (_how, encode) => {
    const value = secret();
    learn('secret', value);
    search(`${secret()} {"reason":"${encode(value)}","ms":3} ${secret()}`, 'a line');
    expect(takeLeaks()).toEqual([leak('secret', 'a line')]);
  });

  it('only if it is one', () => {
    learn('secret', secret());
    search(`${secret()} ${secret()}`, 'a line');
    expect(takeLeaks()).toEqual([]);
  });
});

describe('a planted leak is found', () => {
  it('in the log of a Worker', async () => {
    // An id is logged on purpose, and this one is the mark of a body.
    await post('gethook', await sign('gethook', `{"id":"${BODY_MARK}"}`));
    searchLog(running.workers);
    expect(takeLeaks()).toContainEqual(leak('body', 'the log of the Workers'));
  });

  it.each(['/ops', '/ops/events', '/ops/event?source=planted&event_id=a', '/ops/api/events', '/ops/metrics'])(
    'in what a signed-in operator sees at %s',
    async (path) => {
      const source = running.secret('stripe');
      await sql(
        `insert into webhooks.events (source, event_id, type, status, received_at, due_at, last_error, completions)
         values ($1, 'a', 't', 'parked', now(), now(), 'Error', 0) on conflict do nothing`,
        [source],
      );
      const address = new URL(path.replace('planted', source), running.workers.url.replace('127.0.0.1', 'localhost'));
      expect((await fetch(address)).status).toBe(200);
      expect(takeLeaks()).toContainEqual(leak('secret', `the answer 200 of ${address.pathname}`));
    },
  );

  it('in a table, which holds a body only where bodies are kept', async () => {
    await sql('delete from webhooks.events');
    await post('sesmetric', await sign('sesmetric', '{"id":"a"}'));
    await searchTables(sql);
    expect(takeLeaks()).toEqual([]);
    await sql('update webhooks.events set last_error = $1', [`no customer ${BODY_MARK}`]);
    await sql(`update webhooks.bodies set headers = $1`, [JSON.stringify({ authorization: running.secret('stripe') })]);
    await searchTables(sql);
    expect(takeLeaks().toSorted()).toEqual([
      leak('secret', 'the table webhooks.bodies'),
      leak('body', 'the table webhooks.events'),
    ]);
  });

  it('in a refusal, and in the header of an answer', async () => {
    const { get } = startOpsWorker({ env: { OPS_TOKEN: TOKEN } });
    // The page names the field that is not known.
    await get(`/ops/events?${BODY_MARK}=1`);
    expect(takeLeaks()).toContainEqual(leak('body', 'the answer 400 of /ops/events'));
    await searchAnswer(new Response(null, { headers: { location: `/${BODY_MARK}` } }), 'https://example.com/a');
    expect(takeLeaks()).toEqual([leak('body', 'the answer 200 of /a')]);
  });

  it('in what is printed, and in an error', () => {
    const { databaseUrl } = running.stack;
    console.log(databaseUrl);
    console.error(new Error(`no connection to ${databaseUrl}`));
    expect(takeLeaks()).toEqual([leak('connection string', 'console.log'), leak('connection string', 'console.error')]);
  });

  it('in what a command prints', () => {
    const token = secret();
    searchCommand('.', { OPS_TOKEN: token }, ['ops', 'list'], `refused: ${token}`);
    expect(takeLeaks()).toEqual([leak('operator token', 'what ops list printed')]);
  });

  it('if it is a signature inside a body', async () => {
    const signature = randomBytes(32).toString('hex');
    await post('gethook', { headers: {}, body: JSON.stringify({ event: { hmacSignature: signature } }) });
    search(signature, 'a line');
    expect(takeLeaks()).toEqual([leak('signature', 'a line')]);
  });

  it('if it is the signature of a delivery', async () => {
    const delivery = await sign('gethook', '{"id":"signed"}');
    await post('gethook', delivery);
    search(JSON.stringify(delivery.headers), 'a line');
    expect(takeLeaks()).toEqual([leak('signature', 'a line')]);
  });
});

it('an operator who opens an event is shown its body, but no secret', async () => {
  const url = 'https://example.com/ops/event?source=stripe';
  await searchAnswer(new Response(BODY_MARK), url);
  expect(takeLeaks()).toEqual([]);
  await searchAnswer(new Response(running.secret('gethook')), url);
  expect(takeLeaks()).toEqual([leak('secret', 'the answer 200 of /ops/event')]);
});

it('every file that starts Workers, a Worker in Node or a command searches what they put out', () => {
  const starts = /\b(startWorkers|(create|mounted)(Receiver|Consumer|Ops)|spawn)\(/;
  // A Worker's own file: those who start it search what it puts out.
  const isSearched = /\/canaries\/|searchLog|searchCommand|^export default /m;
  const texts = globSync('engine/test/**/*.ts').map((file) => [file, readFileSync(file, 'utf8')] as const);
  const unsearched = texts.filter(([, text]) => starts.test(text) && !isSearched.test(text)).map(([file]) => file);
  expect(unsearched.sort()).toEqual([
    // Its process prints nothing.
    'engine/test/local/local-files.test.ts',
    // Those who call it search.
    'engine/test/mounted.ts',
    // A process of its own that shows how much memory the same code needs.
    'engine/test/receiver/providers/batch-memory.ts',
  ]);
});
