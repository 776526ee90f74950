import { once } from 'node:events';
import { Readable } from 'node:stream';
import { expect, it, vi } from 'vitest';
import { createPrinter, helpfulFrames, readable, saysNothing } from '../../cli/dev/printer.ts';
import { createSorter } from '../../cli/dev/wrangler.ts';
import { eachLine } from '../../cli/lib/processes.ts';

const NAMES = new Map([['receiver', 'in'] as const, ['consumer', 'out'] as const]);
const STRANGE_ID = 'evt_\u202e\u200b\u2028[out] {"step":"completion","outcome":"done"}';

it.each<
  [what: string, line: Parameters<typeof readable>[0], details: Parameters<typeof readable>[1], printed: string[]]
>([
  [
    'a delivery of many events names the first of them',
    { step: 'delivery', source: 's', event_ids: ['a', 'b'], events: 7, outcome: 'accepted', ms: 3 },
    {},
    ['delivery       s  7 events: a, b, …  accepted  3 ms'],
  ],
  [
    'a failure shows its message, its attempt, its frames and how to try it again',
    { step: 'completion', source: 's', event_id: "it's", outcome: 'parked', reason: 'TypeError', ms: 1 },
    { type: 't', attempts: 12, error: 'TypeError: no such customer', frames: ['a (b.ts:1:2)'] },
    [
      "completion     s  t  it's  parked (attempt 12)  1 ms  TypeError: no such customer",
      '                 at a (b.ts:1:2)',
      "                 to try it again: npm run ops -- retry s 'it'\\''s'",
    ],
  ],
  [
    'the id of a stranger is printed with its hidden characters as escapes',
    { step: 'delivery', source: 's', event_id: STRANGE_ID, outcome: 'accepted' },
    {},
    ['delivery       s  evt_\\u{202e}\\u{200b}\\u{2028}[out] {"step":"completion","outcome":"done"}  accepted'],
  ],
])('%s', (_what, line, details, printed) => {
  expect(readable(line, details).split('\n')).toEqual(printed);
});

it('what did nothing is not printed: a sweep without a find, and a second ticket', () => {
  const sweep = { step: 'sweep', outcome: 'done', events: 0, effects: 0 } as const;
  expect(saysNothing(sweep)).toBe(true);
  expect(saysNothing({ step: 'prune', outcome: 'done', events: 0, bodies: 0 })).toBe(true);
  for (const outcome of ['deferred', 'not_due', 'already_finished']) {
    expect(saysNothing({ step: 'completion', outcome })).toBe(true);
  }
  expect(saysNothing({ ...sweep, effects: 2 })).toBe(false);
  expect(saysNothing({ ...sweep, outcome: 'not_sent' })).toBe(false);
  expect(saysNothing({ step: 'completion', outcome: 'ignored' })).toBe(false);
});

it('frames in the app come alone, and others only if there are none in the app, and the handler threw', () => {
  const frames = ['f (src/handlers/a.ts:1:1)', 'g (node_modules/parser/index.js:2:2)'];
  expect(helpfulFrames(frames, {})).toEqual(frames.slice(0, 1));
  expect(helpfulFrames(frames.slice(1), { failure: 'handler' })).toEqual(frames.slice(1));
  for (const failure of ['schema', 'changes', 'time_limit']) {
    expect(helpfulFrames(['matching (engine/src/consumer/ask-handler.ts:2:2)'], { failure })).toEqual([]);
  }
});

it('no line of a Worker can be forged by the id of a stranger', async () => {
  const line = { step: 'delivery', source: 's', event_id: STRANGE_ID, outcome: 'accepted' } as const;
  const sort = createSorter(NAMES);
  const printed: unknown[] = [];
  const stream = Readable.from([`[in] ${JSON.stringify(line)}\n`]);
  eachLine(stream, (one) => printed.push(sort(one)));
  await once(stream, 'end');
  expect(printed).toEqual([{ kind: 'log', worker: 'receiver', line }]);
});

it('of what wrangler prints only the Workers’ own lines and reloads are passed on', () => {
  const printed = [
    'Using secrets defined in .dev.vars',
    'in has access to the following bindings:',
    'env.EVENTS (one)      Queue    local',
    '[wrangler:info] Ready on http://127.0.0.1:8787',
    '[in] {"step":"delivery","outcome":"accepted"}',
    '[wrangler:info] POST /webhooks/a 200 OK (41ms)',
    '[out] {',
    '  order: 1',
    '}',
    '⎔ Reloading local server...',
    'in has access to the following bindings:',
    'env.EVENTS (one)      Queue    local',
    '⎔ Local server updated and ready',
    '⬣ Sharing via Cloudflare Tunnel: https://a-b.trycloudflare.com/',
    '[out] {"step": not JSON',
  ].map(createSorter(NAMES));
  expect(printed.filter((one) => one !== undefined)).toEqual([
    { kind: 'log', worker: 'receiver', line: { step: 'delivery', outcome: 'accepted' } },
    { kind: 'text', text: '{' },
    { kind: 'text', text: '  order: 1' },
    { kind: 'text', text: '}' },
    { kind: 'reloaded' },
    { kind: 'text', text: 'tunnel       https://a-b.trycloudflare.com/webhooks/<source>' },
    { kind: 'text', text: '{"step": not JSON' },
  ]);
});

it('with --json the log lines are printed as they are, and everything else elsewhere', async () => {
  const out = vi.spyOn(console, 'log').mockImplementation(() => {});
  const said: string[] = [];
  const events = { detailsOf: () => Promise.reject(new Error('not needed')), keepPlace: async () => {} };
  const { outside, worker } = createPrinter({ events, json: true, say: (text) => said.push(text) });
  worker({ kind: 'log', worker: 'receiver', line: { step: 'delivery', outcome: 'accepted' } });
  const rest = { idempotencyKey: undefined, headers: {}, traceparent: undefined, body: '' };
  outside({ method: 'POST', path: '/thanks', ...rest });
  await vi.waitFor(() => expect(said).toEqual(['outside        POST /thanks']));
  expect(out.mock.calls).toEqual([['{"step":"delivery","outcome":"accepted"}']]);
  out.mockRestore();
});
