import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '../../../scripts/config/worker-config.ts';
import { beginningOf } from '../../../src/ops/pages/body.tsx';
import { bundle } from '../../../workshop/bundle.ts';

/** Half of what an isolate has. Node's own 10 MiB are inside it. */
const HEAP_MIB = 64;
const MIB = 1024 * 1024;
const TIME = '2026-03-01 12:00:00+00';

const folder = join(tmpdir(), `claimcheck-page-memory-${process.pid}`);
let script = '';
beforeAll(() => {
  script = bundle('test/engine/fixture/ops.ts', readConfig('test/engine/fixture/wrangler.ops.toml').raw, folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const EVENT = {
  source: 'stripe',
  event_id: 'evt_1',
  type: 'paid',
  status: 'pending',
  attempts: 1,
  max_attempts: 12,
  position: null,
  parked_effects: 0,
  effect_error: null,
  failure: 'schema',
  last_error: 'PermanentError: the payload does not match',
  received_at: TIME,
  finished_at: null,
  due_at: TIME,
  occurred_at: TIME,
  not_before: null,
  failed_paths: ['', 'a.b', '0.0.0'],
  summary: null,
  completions: 0,
  fingerprint: null,
  replay_number: 0,
  actions: [] as object[],
  headers: {},
  effects: [] as object[],
};

/** A process whose heap is limited dies when it needs more. The garbage of young objects is collected early. */
function open(
  path: string,
  { body, ...row }: { readonly body: string; readonly [column: string]: unknown },
): { status: number; length: number; sentences: string[] } {
  const flags = [`--max-old-space-size=${HEAP_MIB}`, '--max-semi-space-size=1'];
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [...flags, 'test/engine/ops-worker/page-memory.ts', resolve(script), path],
    { input: `${JSON.stringify(row)}\n${body}`, encoding: 'utf8', maxBuffer: 64 * MIB },
  );
  expect(status, `needs more than ${HEAP_MIB} MiB: ${stderr.trim().slice(0, 400)}`).toBe(0);
  return JSON.parse(stdout);
}

const PAGE = '/ops/event?source=stripe&event_id=evt_1';
/** The most that a provider sends. */
const SIZE = 5 * MIB;
const nested = `${'['.repeat(510)}${']'.repeat(510)},`;

it.each([
  ['510 levels deep, again and again', `[${nested.repeat(Math.floor(SIZE / nested.length))}0]`],
  ['of numbers', `[${'1,'.repeat(SIZE / 2)}1]`],
  ['of empty objects', `[${'{},'.repeat(SIZE / 3)}1]`],
  ['of one text', JSON.stringify('x'.repeat(SIZE))],
  ['of quotes', JSON.stringify('"'.repeat(SIZE / 2))],
  ['of control characters', '\u0001'.repeat(SIZE)],
  ['of small objects in a small body', `[${'{"a":[{}]},'.repeat(9000)}1]`],
])('the page of an event shows the beginning of a body %s within 64 MiB', (_what, body) => {
  const { status, length, sentences } = open(PAGE, { ...EVENT, body });
  expect(status).toBe(200);
  expect(sentences).toEqual([expect.stringContaining('This is the beginning.')]);
  // One character takes ten as U+0001 in its brackets.
  expect(length).toBeLessThan(1.5 * MIB);
});

it('the page of an event with 10,000 actions of operators and 1,000 effects shows the last and the first of them', () => {
  const action = { at: '2026-03-01T12:00:00.000Z', who: 'w'.repeat(254), action: 'retry', reason: 'r'.repeat(500) };
  const effect = {
    kind: 'mail',
    status: 'pending',
    attempts: 1,
    max_attempts: 12,
    position: null,
    failure: 'response',
    last_error: 'e'.repeat(1000),
  };
  const times = { due_at: TIME, not_before: TIME, sent_at: null };
  const actions = Array.from({ length: 10_000 }, () => action);
  const effects = Array.from({ length: 1000 }, (_, n) => ({ name: `mail-${n}`, ...effect, ...times }));
  const { status, length, sentences } = open(PAGE, { ...EVENT, actions, effects, body: '{}' });
  expect(status).toBe(200);
  expect(sentences).toEqual(['The first 200 of 1,000 effects.', 'The last 200 of 11,003 moments.']);
  expect(length).toBeLessThan(1.5 * MIB);
});

it('the API gives the whole body within 64 MiB', () => {
  const body = `[${'{},'.repeat(SIZE / 3)}1]`;
  expect(open('/ops/api/events/stripe/evt_1', { ...EVENT, body }).length).toBeGreaterThan(SIZE);
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
