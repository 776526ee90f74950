// What an operator or a program may send to the console and its API. What is left out has its default, and what cannot be
// understood is refused in words: a filter that lost a condition would match more events than its sender means.
import { describe, expect, it } from 'vitest';
import { cursorText, readAction, readFields, readFilter, readList } from '../../src/ops/input.ts';

const invalid = (detail: string | RegExp) => ({ outcome: 'invalid', detail: expect.stringMatching(detail) });
const valid = (value: unknown) => ({ outcome: 'valid', value });
const cursor = (...position: unknown[]) => Buffer.from(JSON.stringify(position)).toString('base64url');

describe('a filter', () => {
  it.each([
    [
      { sorce: 'a' },
      /^there is no filter "sorce": source, status, type, failure, error, effect_status, q, since, until, action_at$/,
    ],
    [{ status: 'failed' }, /^status must be one of pending, done, ignored, parked$/],
    [{ failure: 'none' }, /^failure must be one of handler, /],
    [{ effect_status: 'sent' }, /^effect_status must be one of pending, parked$/],
    [{ source: 7 }, /^source must be a text without NUL$/],
    [{ q: 'a\0' }, /^q must be a text without NUL$/],
    [{ type: '\ud800' }, /^type must be a text without NUL$/],
    ...['on 2026-01-31', '2026-13-01', '2026-01-31 12:00', '2026-01-31T25:00', '0000-01-01', '1770000000'].map(
      (since) => [{ since }, /^since must be a time such as 2026-01-31T12:00Z$/],
    ),
  ] as [object, RegExp][])('%j is refused', (fields, detail) => {
    expect(readFilter(fields as Record<string, unknown>)).toEqual(invalid(detail));
  });

  it('has no condition for a field that is empty, as in a form', () => {
    expect(readFilter({ source: '', status: '', since: '', type: undefined })).toEqual(valid({}));
  });

  it.each([
    ['2026-01-31', '2026-01-31T00:00:00.000Z'],
    ['2026-01-31T12:00', '2026-01-31T12:00:00.000Z'],
    ['2026-01-31T12:00:30.123456789', '2026-01-31T12:00:30.123Z'],
    ['2026-01-31T12:00+05:30', '2026-01-31T06:30:00.000Z'],
    ['2026-01-31T12:00:00-0100', '2026-01-31T13:00:00.000Z'],
  ])('the time %s is %s, wherever the machine is', (until, time) => {
    expect(readFilter({ until })).toEqual(valid({ until: new Date(time) }));
  });
});

describe('a list', () => {
  it.each([undefined, '', '1', '500'])('has the limit %j, and an id without the spaces around it', (limit) => {
    expect(readList({ limit, q: ' evt_1 ' })).toEqual(
      valid({ filter: { q: 'evt_1' }, limit: Number(limit) || 50, after: undefined }),
    );
  });

  it.each(['0', '-1', '501', '1.5', 'many', ' '])('is refused with the limit %j', (limit) => {
    expect(readList({ limit })).toEqual(invalid(/^limit is a number from 1 to 500$/));
  });

  it.each([
    'x',
    '{}',
    cursor(),
    cursor('2026-03-01 12:00:00+00', 'a'),
    cursor('2026-03-01 12:00:00+00', 'a', 'b', 'c'),
    cursor('2026-03-01 12:00:00+00', 'a', 7),
    cursor('2026-03-01 12:00:00+00', 'a\0', 'b'),
    cursor(['2026-03-01 12:00:00+00'], 'a', 'b'),
    // Postgres would refuse the whole query.
    ...['2026-02-30 12:00:00+00', '2026-03-01T12:00:00Z', '2026-03-01 12:00:00', '2026-03-01 24:00:00+00', 'now'].map(
      (time) => cursor(time, 'a', 'b'),
    ),
    ...['2026-03-01 12:00:00+16', '2026-03-01 12:00:00+05:60', '2026-03-01 12:00:00.1234567+00'].map((time) =>
      cursor(time, 'a', 'b'),
    ),
    ...['on 2026-03-01 12:00:00+00', '2026-03-01 12:00:00+00 (then)'].map((time) => cursor(time, 'a', 'b')),
  ])('is refused with the cursor %s', (text) => {
    expect(readList({ cursor: text })).toEqual(invalid(/^cursor is not one that this API has given out$/));
  });

  it('has no cursor behind its end', () => {
    expect(cursorText(undefined)).toBeNull();
  });
});

describe('an action', () => {
  const key = { source: 'stripe', eventId: 'evt_1' };
  const FINISHED = '2026-03-01T12:00:00.000Z';

  it('on one event has its defaults', () => {
    const defaults = {
      filter: { source: 'stripe', q: 'evt_1' },
      expected: undefined,
      finishedAt: undefined,
      reason: undefined,
      sendEffectsAgain: false,
    };
    expect(readAction('retry', {}, key)).toEqual(valid({ action: 'retry', ...defaults }));
    expect(readAction('retry', { reason: '' }, key)).toEqual(valid({ action: 'retry', ...defaults }));
    const rerun = { ...defaults, finishedAt: new Date(FINISHED), sendEffectsAgain: true };
    expect(readAction('rerun', { finished_at: FINISHED, effects: true }, key)).toEqual(
      valid({ action: 'rerun', ...rerun }),
    );
  });

  it('on many needs a filter, of which {} means all events', () => {
    expect(readAction('rerun', { filter: {} })).toMatchObject(valid({ filter: {}, expected: undefined }));
    expect(readAction('retry', { filter: {}, expected: '7-a0' })).toMatchObject({ value: { expected: '7-a0' } });
  });

  it.each<[action: 'retry' | 'discard' | 'rerun', fields: Record<string, unknown>, isOne: boolean, detail: RegExp]>([
    ['retry', {}, false, /^filter is missing. {} means all events$/],
    ['retry', { filter: [] }, false, /^filter is missing/],
    ['retry', { filter: null }, false, /^filter is missing/],
    ['retry', { filter: { source: '' } }, false, /^source must not be empty$/],
    ['retry', { filter: { source: null } }, false, /^source must be a text/],
    ['retry', { filter: { failure: '' } }, false, /^failure must be one of/],
    ['retry', { filter: {}, expected: 7 }, false, /^expected is not what a dry run has answered$/],
    ['retry', { filter: {}, expected: '7' }, false, /^expected is not what a dry run has answered$/],
    ['retry', { filter: {} }, true, /^there is no field "filter": finished_at, reason, effects$/],
    ['retry', { filter: {}, finished_at: FINISHED }, false, /^there is no field "finished_at": filter, expected, /],
    ['retry', { effects: 'yes' }, true, /^effects is true or false$/],
    ['retry', { reason: 7 }, true, /^reason is a text$/],
    ['discard', {}, true, /^reason is missing: nothing else will say why$/],
    ['discard', { reason: ' \n' }, true, /^reason is missing/],
    ['rerun', {}, true, /^finished_at is missing: with it, a request that is repeated runs the event only once more$/],
  ])('%s with %j (one event: %s) is refused', (action, fields, isOne, detail) => {
    expect(readAction(action, fields, isOne ? key : undefined)).toEqual(invalid(detail));
  });

  it('keeps one line of its reason, of 500 characters', () => {
    const read = readAction('discard', { reason: `two\nlines ${'x'.repeat(500)}` }, key);
    expect(read).toMatchObject({ value: { reason: `two lines ${'x'.repeat(490)}` } });
  });
});

it.each([
  ['', valid({})],
  ['{"a":1}', valid({ a: 1 })],
  ['[]', invalid(/^the body is not a JSON object$/)],
  ['null', invalid(/^the body is not a JSON object$/)],
  ['{', invalid(/^the body is not a JSON object$/)],
])('the body %j is read', (text, result) => {
  expect(readFields(text)).toEqual(result);
});
