// The words of the console and of `npm run ops`.
import { expect, it } from 'vitest';
import * as words from '../../src/ops/words.ts';
import { countedBoth } from '../../src/shared/counts.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000).toISOString();

it('durations and times are shown in short words', () => {
  const durations = [0, 0.44, 9.5, 10.4, 59, 60, 3599, 3600, 86_400].map(words.duration);
  expect(durations.join()).toBe('0 s,0.4 s,9.5 s,10 s,59 s,1 min,59 min,1 h,1 d');
  expect([-60, 0, 60].map((seconds) => words.relative(at(seconds), NOW)).join()).toBe('1 min ago,0 s ago,in 1 min');
  expect([-12, 0, 12].map((seconds) => words.upcoming(at(seconds), NOW)).join()).toBe('now,now,in 12 s');
  expect([at(-3600), '2025-11-17T03:03:00+01:00'].map((time) => words.clock(time, NOW)).join()).toBe(
    '11:00,17 Nov 02:03',
  );
});

const problem = (what: string, count: number, since: number | null, status = 'pending') => ({
  what,
  count,
  status,
  since: since && at(since),
});

it.each([
  [0, 0, [], [], 'Nothing is parked'],
  [0, 0, [], [true, false], '1 source is silent'],
  [0, 0, [], [true, true], '2 sources are silent'],
  [0, 0, [problem('event', 1, null)], [], '1 event keeps failing'],
  [
    0,
    0,
    [problem('event', 1, -60), problem('effect', 2, -3600), problem('effect', 3, -60)],
    [],
    '1 event and 5 effects keep failing, since 11:00 UTC',
  ],
  [1, 0, [problem('event', 9, -60)], [], '1 event is parked'],
  [0, 1, [problem('effect', 1, -60, 'parked')], [true], '1 effect is parked, since 11:59 UTC'],
])('%i parked events, %i parked effects, problems %j, silence %j: %s', (events, effects, problems, silent, text) => {
  const sources = silent.map((unusually_silent) => ({ unusually_silent }));
  const status = { totals: { parked: events }, effects: { parked: effects }, problems, sources, pauses: [] };
  expect(words.headline(status as never, NOW)).toBe(text);
});

it('a pause is in the headline if nothing is parked and nothing else fails', () => {
  const none = { totals: { parked: 0 }, effects: { parked: 0 }, problems: [], sources: [] };
  const headline = (...kinds: string[]) =>
    words.headline({ ...none, pauses: kinds.map((kind) => ({ kind })) } as never, NOW);
  expect([headline('slack'), headline('slack', 'mail')]).toEqual(['slack is paused', '2 hosts are paused']);
});

it('attempts are shown with their limit while more may follow or when none are left', () => {
  const of = (status: string, attempts: number, max: number | null) =>
    words.attemptsOf({ status, attempts, max_attempts: max });
  const all = [of('pending', 5, 12), of('parked', 12, 12), of('parked', 1, 12), of('pending', 5, null)];
  expect(all.join()).toBe('5 of 12,12 of 12,1,5');
});

it('a failure is named with its position in src', () => {
  const position = 'at (src/handlers/order-paid.ts:24:7) < run (engine/src/consumer/work.ts:3:1)';
  expect(words.placeOf(position)).toEqual({ short: 'order-paid.ts:24', path: 'src/handlers/order-paid.ts:24' });
  expect([words.placeOf('run (engine/src/consumer/work.ts:3:1)'), words.placeOf(null)]).toEqual([undefined, undefined]);
  const one = { source: 'stripe', type: null, kinds: ['mail', 'sms'], failure: 'permanent', position };
  expect(words.originOf(one as never)).toEqual(['stripe', 'effect mail, sms', 'permanent', 'order-paid.ts:24']);
  const other = { ...one, type: 'paid', kinds: [], position: null };
  expect(words.originOf(other as never)).toEqual(['stripe', 'paid', 'permanent']);
  expect(countedBoth({ events: 0, effects: 0 })).toBe('nothing');
});

it.each([
  ['TypeError: no rate for \'EUR\' in {"id":1}', "TypeError: no rate for 'EUR' in…"],
  ['Error: {"code":1}', 'Error: {"code":1}'],
  ['Error: first line\nsecond', 'Error: first line…'],
  ['e'.repeat(161), `${'e'.repeat(160)}…`],
])('the title of the error %j is %j, with an ellipsis if it is shortened', (error, title) => {
  expect(words.beginningOfError(error)).toBe(title);
});
