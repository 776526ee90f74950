import { expect, it } from 'vitest';
import { errorFields, eventIdFields, positionOf } from '../../src/shared/log.ts';

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
