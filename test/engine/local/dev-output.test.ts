import { expect, it, vi } from 'vitest';
import { readable } from '../../../scripts/dev/log-lines.ts';
import { createPrinter } from '../../../scripts/dev/printer.ts';
import { createSorter } from '../../../scripts/dev/wrangler-output.ts';
import { ownFrames } from '../../../scripts/lib/positions.ts';

it('a delivery of many events names the first of them', () => {
  const line = { step: 'delivery', source: 's', event_ids: ['a', 'b'], events: 7, outcome: 'accepted', ms: 3 } as const;
  expect(readable(line)).toBe('delivery       s  7 events: a, b, …  accepted  3 ms');
});

it('a sweep that found nothing is not printed, and one that found something or failed is', () => {
  const sweep = { step: 'sweep', outcome: 'done', events: 0, effects: 0 } as const;
  expect(readable(sweep)).toBeUndefined();
  expect(readable({ step: 'prune', outcome: 'done', events: 0, bodies: 0 })).toBeUndefined();
  expect(readable({ ...sweep, effects: 2 })).toBe('sweep          done  events 0  effects 2');
  expect(readable({ ...sweep, outcome: 'not_sent' })).toBe('sweep          not_sent  events 0  effects 0');
});

it('a failure shows its message, its attempt, its frames and what to do', () => {
  const line = {
    step: 'completion',
    source: 's',
    event_id: "it's",
    outcome: 'parked',
    reason: 'TypeError',
    ms: 1,
  } as const;
  const details = {
    type: 't',
    attempts: 12,
    error: 'TypeError: no such customer',
    frames: ['a (b.ts:1:2)'],
    remedy: 'do this',
  };
  expect(readable(line, details)?.split('\n')).toEqual([
    "completion     s  t  it's  parked (attempt 12)  1 ms  TypeError: no such customer",
    '                 at a (b.ts:1:2)',
    '                 do this',
    "                 to try it again: npm run ops -- retry s 'it'\\''s'",
  ]);
});

it('a field that has no place of its own is printed with its name', () => {
  const line = { step: 'delivery', source: 's', outcome: 'handshake', sealed: 'abc', ms: 1 } as const;
  expect(readable(line)).toBe('delivery       s  handshake  sealed abc  1 ms');
});

it('frames in the app come alone, and others only if there are none in the app', () => {
  const frames = ['f (src/app/handlers/a.ts:1:1)', 'g (src/consumer/handler.ts:2:2)'];
  expect(ownFrames(frames)).toEqual(frames.slice(0, 1));
  expect(ownFrames(frames.slice(1))).toEqual(frames.slice(1));
});

it('of what wrangler prints only the Workers’ own lines and reloads are passed on', () => {
  const sort = createSorter(
    new Map([
      ['receiver', 'in'],
      ['consumer', 'out'],
    ]),
  );
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
    '[out] {"step": not JSON',
  ].map(sort);
  expect(printed.filter((one) => one !== undefined)).toEqual([
    {
      kind: 'log',
      worker: 'receiver',
      line: { step: 'delivery', outcome: 'accepted' },
      raw: '{"step":"delivery","outcome":"accepted"}',
    },
    { kind: 'text', text: '{' },
    { kind: 'text', text: '  order: 1' },
    { kind: 'text', text: '}' },
    { kind: 'reloaded' },
    { kind: 'text', text: '{"step": not JSON' },
  ]);
});

it('with --json the log lines are printed as they are, and everything else elsewhere', async () => {
  const said: string[] = [];
  const out = vi.spyOn(console, 'log').mockImplementation(() => {});
  const events = { detailsOf: () => Promise.reject(new Error('not needed')) };
  const printer = createPrinter({ events, json: true, say: (text) => said.push(text) });
  const raw = '{"step":"delivery","outcome":"accepted"}';
  printer.worker({ kind: 'log', worker: 'receiver', line: { step: 'delivery', outcome: 'accepted' }, raw });
  printer.outside({
    method: 'POST',
    path: '/thanks',
    idempotencyKey: undefined,
    headers: {},
    traceparent: undefined,
    body: '',
  });
  await vi.waitFor(() => expect(said).toEqual(['outside        POST /thanks']));
  expect(out.mock.calls).toEqual([[raw]]);
  out.mockRestore();
});
