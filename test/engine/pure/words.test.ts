// The words of the console and of `npm run ops`.
import { expect, it } from 'vitest';
import {
  attemptsOf,
  beginningOfError,
  clock,
  countedBoth,
  duration,
  headline,
  originOf,
  placeOf,
  relative,
  upcoming,
} from '../../../src/ops/words.ts';

const NOW = new Date('2026-03-01T12:00:00Z');
const at = (seconds: number) => new Date(NOW.getTime() + seconds * 1000).toISOString();

it.each([
  [0, '0 s'],
  [0.44, '0.4 s'],
  [9.5, '9.5 s'],
  [10.4, '10 s'],
  [59, '59 s'],
  [60, '1 min'],
  [3599, '59 min'],
  [3600, '1 h'],
  [86_400, '1 d'],
])('%s seconds are %s', (seconds, words) => {
  expect(duration(seconds)).toBe(words);
  expect([relative(at(-seconds), NOW), relative(at(60), NOW)]).toEqual([
    `${duration(Math.round(seconds))} ago`,
    'in 1 min',
  ]);
});

it('what is tried next, and the time of day, are those of now', () => {
  expect([upcoming(at(12), NOW), upcoming(at(0), NOW), upcoming(at(-12), NOW)]).toEqual(['in 12 s', 'now', 'now']);
  expect([clock(at(-3600), NOW), clock('2025-11-17T23:03:00+01:00', NOW)]).toEqual(['11:00', '17 Nov 22:03']);
});

it.each([
  [{}, 'Nothing is parked'],
  [{ silent: [true, false] }, '1 source is silent'],
  [{ silent: [true, true] }, '2 sources are silent'],
  [{ problems: [{ what: 'event', count: 1, since: null }] }, '1 event keeps failing'],
  [
    {
      problems: [
        { what: 'event', count: 1, since: at(-60) },
        { what: 'effect', count: 2, since: at(-3600) },
        { what: 'effect', count: 3, since: at(-1800) },
      ],
    },
    '1 event and 5 effects keep failing, since 11:00 UTC',
  ],
  [{ parked: [1, 0], problems: [{ what: 'event', count: 9, since: at(-60) }] }, '1 event is parked'],
  [
    { parked: [0, 1], problems: [{ what: 'effect', status: 'parked', count: 1, since: at(-60) }], silent: [true] },
    '1 effect is parked, since 11:59 UTC',
  ],
])('the headline of %j is: %s', ({ parked = [0, 0], problems = [], silent = [] }: Figures, words) => {
  const [events, effects] = parked;
  const status = {
    totals: { parked: events },
    effects: { parked: effects },
    problems: problems.map((problem) => ({ status: 'pending', ...problem })),
    sources: silent.map((unusually_silent) => ({ unusually_silent })),
  };
  expect(headline(status as never, NOW)).toBe(words);
});

interface Figures {
  readonly parked?: number[];
  readonly problems?: object[];
  readonly silent?: boolean[];
}

it('attempts are out of how many while there can be more, and when there were that many', () => {
  const of = (status: string, attempts: number, max_attempts: number | null) =>
    attemptsOf({ status, attempts, max_attempts });
  expect([of('pending', 5, 12), of('parked', 12, 12), of('parked', 1, 12), of('pending', 5, null)]).toEqual([
    '5 of 12',
    '12 of 12',
    '1',
    '5',
  ]);
});

it('what has failed is named with its place in src/app', () => {
  const position = 'at (src/app/handlers/order-paid.ts:24:7) < run (src/consumer/work.ts:3:1)';
  expect(placeOf(position)).toEqual({ short: 'order-paid.ts:24', path: 'src/app/handlers/order-paid.ts:24' });
  expect([placeOf('run (src/consumer/work.ts:3:1)'), placeOf(null)]).toEqual([undefined, undefined]);
  const problem = { source: 'stripe', type: null, kinds: ['mail', 'sms'], failure: 'permanent', position };
  expect(originOf(problem as never)).toEqual(['stripe', 'effect mail, sms', 'permanent', 'order-paid.ts:24']);
  expect(originOf({ ...problem, type: 'paid', kinds: [], position: null } as never)).toEqual([
    'stripe',
    'paid',
    'permanent',
  ]);
  expect(countedBoth({ events: 0, effects: 0 })).toBe('nothing');
});

it.each([
  ['TypeError: no rate for \'EUR\' in {"id":1}', "TypeError: no rate for 'EUR' in…"],
  ['Error: {"code":1}', 'Error: {"code":1}'],
  ['Error: first line\nsecond', 'Error: first line…'],
  ['e'.repeat(161), `${'e'.repeat(160)}…`],
])('of the error %j the title is %j: what is cut is said, and something is left to read', (error, title) => {
  expect(beginningOfError(error)).toBe(title);
});
