import { expect, it, vi } from 'vitest';
import { errorFields, eventIdFields, log, positionOf } from '../../src/shared/log.ts';

/** A value that may be in the message of an error, and must never be in the log. */
const CANARY = 'canary-7f3a';

function thrown(message: string): Error {
  return new TypeError(message);
}

it('a position names the innermost frames, without the folders that the code was built in', () => {
  const position = positionOf(thrown('wrong'));
  expect(position).toMatch(/^thrown \(log\.test\.ts\S*:\d+:\d+\) < /);
  expect(position?.split(' < ')).toHaveLength(3);
  expect(position).not.toContain('engine/');
});

it.each([
  CANARY,
  `two lines\n${CANARY}`,
  `a line that looks like a frame\n    at ${CANARY} (index.js:1:2)`,
  `${CANARY} (index.js:1:2)\n    at ${CANARY} (index.js:1:2)\n`,
])('a position holds nothing of the message %j', (message) => {
  expect(positionOf(thrown(message))).toMatch(/^thrown /);
  expect(positionOf(thrown(message))).not.toContain(CANARY);
});

it('a position holds nothing of a message that was changed after the error was made', () => {
  const error = thrown(`${CANARY}\n    at ${CANARY} (index.js:1:2)\n${CANARY}`);
  error.message = 'another message';
  expect(positionOf(error)).toMatch(/^thrown /);
  expect(positionOf(error)).not.toContain(CANARY);
});

it('a thrown value that is not an error has a type and no position', () => {
  expect(errorFields(CANARY)).toEqual({ error: 'string', position: undefined });
  expect(errorFields(undefined)).toEqual({ error: 'undefined', position: undefined });
  expect(errorFields(thrown(CANARY))).toMatchObject({
    error: 'TypeError',
    position: expect.stringMatching(/^thrown /),
  });
});

it('an error without a stack has a name and no position', () => {
  const error = thrown('wrong');
  error.stack = undefined as never;
  expect(errorFields(error)).toEqual({ error: 'TypeError', position: undefined });
});

it('a line about many events names the first five of them and how many there are', () => {
  expect(eventIdFields(['a'])).toEqual({ event_id: 'a' });
  expect(eventIdFields(['a', 'b', 'c', 'd', 'e', 'f'])).toEqual({ event_ids: ['a', 'b', 'c', 'd', 'e'], events: 6 });
});

it('what the log writes is printable, whatever a sender has put into an id, and can be read back as it was', () => {
  const written = vi.spyOn(console, 'log').mockImplementation(() => {});
  const controls = '\u0000\u001b\u007f\u0085\u2028\u2029';
  const invisible = '\u00ad\u034f\u115f\u200b\u200d\u2060\u3164\ufe0f\ufeff\u{e0041}';
  const line = {
    step: 'delivery',
    outcome: 'accepted',
    event_id: `a${controls}${invisible}\u202eb\u2066\ud800é😀"`,
  } as const;
  log(line);
  const [[text = ''] = []] = written.mock.calls;
  written.mockRestore();
  expect(text).toMatch(/^[ -~é😀]+$/u);
  expect(JSON.parse(text)).toEqual(line);
});

it.each([
  ['AbortError', 'AbortError'],
  ['Drizzle.Query$Error', 'Drizzle.Query$Error'],
  ['x'.repeat(80), 'x'.repeat(80)],
  ['x'.repeat(81), 'Error'],
  ['a\u202eb', 'Error'],
  ['jane@example.com', 'Error'],
  ['', 'Error'],
  [7 as never, 'Error'],
])('an error of the name %j has the name %j in the log', (name, logged) => {
  const error = Object.assign(thrown('wrong'), { name });
  expect(errorFields(error).error).toBe(logged);
});

it('a position is cut, because a function may have any name', () => {
  const error = thrown('wrong');
  error.stack = `TypeError: wrong\n    at ${'x'.repeat(5000)} (index.js:1:2)`;
  expect(positionOf(error)).toBe('x'.repeat(1000));
});
