import * as v from 'valibot';
import { expect, it } from 'vitest';
import { failureOf, withFailure } from '../../../src/kit/errors.ts';
import { currentState, errorFromResponse, PermanentError, RetryLater } from '../../../src/kit/index.ts';

const NOW = new Date('2026-03-01T12:00:00Z');

/** Answers every question with an error. */
const hostile = new Proxy(new Error('never read'), {
  get: () => {
    throw new Error('no property');
  },
  getPrototypeOf: () => {
    throw new Error('no prototype');
  },
});
const { proxy: revoked, revoke } = Proxy.revocable({}, {});
revoke();

it.each([
  ['a PermanentError', new PermanentError('never'), 'permanent'],
  ['a RetryLater', new RetryLater(60), 'retry_later'],
  ['any other error', new TypeError('wrong'), 'handler'],
  ['a text', 'wrong', 'handler'],
  ['nothing', undefined, 'handler'],
  ['null', null, 'handler'],
  ['a Proxy that throws', hostile, 'handler'],
  ['a revoked Proxy', revoked, 'handler'],
])('%s that is thrown is of its failure', (_what, thrown, failure) => {
  expect(failureOf(thrown)).toEqual({ failure, failedPaths: null });
});

it('an error of ours says which failure it is, also if it is frozen, and stays the same error', () => {
  const error = Object.freeze(new PermanentError('the payload does not match'));
  expect(withFailure(error, 'schema', ['data.id'])).toBe(error);
  expect(failureOf(error)).toEqual({ failure: 'schema', failedPaths: ['data.id'] });
});

it.each([
  { status: 400, headers: {}, kind: PermanentError },
  { status: 429, headers: { 'retry-after': '5' }, kind: RetryLater },
  { status: 500, headers: {}, kind: Error },
])('the error for a response with the status $status is of the failure response', ({ kind, ...init }) => {
  const error = errorFromResponse(new Response('', init), NOW);
  expect(error).toBeInstanceOf(kind);
  expect(failureOf(error).failure).toBe('response');
});

it('a current state that does not match its schema is a permanent error of the failure schema', async () => {
  const tools = { fetch: async () => Response.json({ id: 7 }), now: NOW };
  const thrown = await currentState(tools, 'https://example.com', v.object({ id: v.string() })).catch((error) => error);
  expect(thrown).toBeInstanceOf(PermanentError);
  expect(failureOf(thrown)).toEqual({ failure: 'schema', failedPaths: null });
});
