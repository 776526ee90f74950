import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../cli/config/worker-config.ts';
import { beginningOf } from '../../src/ops/pages/body.tsx';
import { bundle } from '../../workshop/bundle.ts';
import { search } from '../canaries/canaries.ts';
import { useDatabase } from '../database.ts';
import { seed } from '../seed.ts';
import { TOKEN } from './start.ts';

const database = useDatabase();
const { sql } = database;

/** Half of what an isolate has. Node's own 10 MiB are inside it. */
const HEAP_MIB = 64;
const MIB = 1024 * 1024;

const folder = join(tmpdir(), `claimcheck-page-memory-${process.pid}`);
let script = '';
beforeAll(() => {
  script = bundle('engine/test/fixture/ops.ts', readConfig('engine/test/fixture/wrangler.ops.toml').raw, folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A process whose heap is limited dies when it needs more. The garbage of young objects is collected early. */
async function open(path: string): Promise<{ status: number; length: number; sentences: string[] }> {
  const flags = [`--max-old-space-size=${HEAP_MIB}`, '--max-semi-space-size=1'];
  const env = { ...process.env, OPS_TOKEN: TOKEN, DATABASE_URL: database.stack.workerUrls.ops };
  const args = [...flags, 'engine/test/ops-worker/page-memory.ts', resolve(script), path];
  const child = spawn(process.execPath, args, { env });
  const [out, error, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  search(out, 'the output of the console', ['body']);
  expect(code, `needs more than ${HEAP_MIB} MiB: ${error.trim().slice(0, 400)}`).toBe(0);
  return JSON.parse(out.trim().split('\n').at(-1) ?? '');
}

async function claimed(body: string, actions: readonly object[] = []): Promise<void> {
  await sql('delete from webhooks.events');
  const event = { event_id: 'evt_1', failure: 'schema', failed_paths: ['', 'a.b', '0.0.0'], actions };
  await seed(database, { pending: 1 }, { at: new Date(), event, body });
}

const PAGE = '/ops/event?source=stripe&event_id=evt_1';
/** The most that a provider sends. */
const SIZE = 5 * MIB;
const nested = `${'['.repeat(510)}${']'.repeat(510)},`;

it.each([
  ['510 levels deep, again and again', `[${nested.repeat(Math.floor(SIZE / nested.length))}0]`],
  ['of numbers', `[${'1,'.repeat(SIZE / 2)}1]`],
  ['of control characters', '\u0001'.repeat(SIZE)],
  ['of small objects in a small body', `[${'{"a":[{}]},'.repeat(9000)}1]`],
])('the page of an event shows the beginning of a body %s within 64 MiB', async (_what, body) => {
  await claimed(body);
  const { status, length, sentences } = await open(PAGE);
  expect(status).toBe(200);
  expect(sentences).toEqual([expect.stringContaining('This is the beginning.')]);
  // One character takes ten as U+0001 in its brackets.
  expect(length).toBeLessThan(1.5 * MIB);
});

it('the page of an event with 10,000 actions of operators and 1,000 effects shows the last and the first of them', async () => {
  const action = { at: '2026-03-01T12:00:00.000Z', who: 'w'.repeat(254), action: 'retry', reason: 'r'.repeat(500) };
  await claimed('{}', Array(10_000).fill(action));
  await sql(`insert into webhooks.effects (source, event_id, name, kind, payload, due_at, not_before, failure, last_error)
    select 'stripe', 'evt_1', n, 'mail', '{}', now(), now(), 'response', repeat('e', 1000) from generate_series(1, 1000) n`);
  const { status, length, sentences } = await open(PAGE);
  expect(status).toBe(200);
  expect(sentences.slice(-2)).toEqual(['The first 200 of 1,000 effects.', 'The last 200 of 11,002 moments.']);
  expect(length).toBeLessThan(1.5 * MIB);
});

it('the API gives the whole body within 64 MiB', async () => {
  await claimed(`[${'{},'.repeat(SIZE / 3)}1]`);
  expect((await open('/ops/api/events/stripe/evt_1')).length).toBeGreaterThan(SIZE);
});

describe('the beginning of a body', () => {
  it('changes nothing but the space between tokens', () => {
    const text = '{"a":12345678901234567890,"a":[],"b":{},"c":[1.50,{"d":"x: [1, 2] \\" \\\\"}], "e" : null}';
    expect(beginningOf(text)).toBe(
      [
        '{',
        '  "a": 12345678901234567890,',
        '  "a": [],',
        '  "b": {},',
        '  "c": [',
        '    1.50,',
        '    {',
        '      "d": "x: [1, 2] \\" \\\\"',
        '    }',
        '  ],',
        '  "e": null',
        '}',
      ].join('\n'),
    );
    expect(beginningOf('not JSON')).toBe('not JSON');
    expect(beginningOf('"text"')).toBe('"text"');
  });

  it.each(['{"a":"\\', '{"a":"b', '[1.5', '{"a"}}}}}]]:', '{"a":1}\n{"b":"\\"'])(
    'loses no character of a long one that begins with %j, wherever it is cut',
    (start) => {
      for (const rest of ['x', '"', '\\', '[', '}']) {
        const body = start + rest.repeat(200_000);
        const shown = beginningOf(body).replaceAll(/\s/g, '');
        expect(shown.length).toBeGreaterThan(2000);
        expect(body.replaceAll(/\s/g, '').startsWith(shown)).toBe(true);
      }
    },
  );
});
