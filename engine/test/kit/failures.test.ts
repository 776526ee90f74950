import * as v from 'valibot';
import { describe, expect, it } from 'vitest';
import type { Statement } from '../../src/db/client.ts';
import { failureOf, withFailure } from '../../src/kit/errors.ts';
import {
  currentState,
  defineEffect,
  defineEffects,
  defineHandler,
  defineHandlers,
  defineSamples,
  defineSources,
  errorFromResponse,
  must,
  PermanentError,
  RetryLater,
  typed,
} from '../../src/kit/index.ts';
import { stripe } from '../../src/providers/stripe.ts';

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

/** The failure, and after how many seconds to try again. */
const seconds = (error?: Error) => (error instanceof RetryLater ? error.seconds : error?.constructor.name);

it.each<[status: number, retryAfter: string, expected: number | string | undefined]>([
  [200, '5', undefined],
  [299, '5', undefined],
  // `fetch` follows redirects, unless an effect asks it not to.
  [302, '5', 5],
  [399, '', 'Error'],
  [400, '5', 'PermanentError'],
  [401, '', 'Error'],
  [402, '', 'PermanentError'],
  [403, '5', 5],
  [404, '', 'PermanentError'],
  [408, '5', 5],
  [409, '5', 5],
  [425, '5', 5],
  [429, '5', 5],
  [499, '5', 'PermanentError'],
  [500, '', 'Error'],
  [503, '0', 'Error'],
  [503, '-1', 'Error'],
  [503, '1.5', 1.5],
  [503, 'Infinity', 'Error'],
  [503, 'soon', 'Error'],
  [503, 'Sun, 01 Mar 2026 12:02:00 GMT', 120],
  [503, 'Sun, 01 Mar 2026 11:58:00 GMT', 'Error'],
  [503, 'at: noon', 'Error'],
])('a response with the status %i and Retry-After %j is the error %s', (status, retryAfter, expected) => {
  const error = errorFromResponse(new Response(null, { status, headers: { 'retry-after': retryAfter } }), NOW);
  expect(seconds(error)).toBe(expected);
  if (error)
    expect([failureOf(error).failure, error.message]).toEqual(['response', `the other side answered ${status}`]);
});

describe('the current state of a thing', () => {
  const schema = v.object({ id: v.pipe(v.string(), v.transform(Number)) });
  const ask = (answers: Response | Response[], init?: Parameters<typeof currentState>[3]) => {
    const left = [answers].flat();
    const calls: Request[] = [];
    const fetch = async (url: string, init?: RequestInit) => {
      calls.push(new Request(url, init));
      const answer = left.shift();
      if (!answer) throw new Error('asked too often');
      return answer;
    };
    const tools = { fetch: fetch as typeof globalThis.fetch, now: NOW };
    return { state: currentState(tools, 'https://example.com/a', schema, init), calls };
  };
  const status = (status: number) => new Response('{}', { status });

  it('is what its schema makes of the answer, and the request says who asks', async () => {
    const { state, calls } = ask(Response.json({ id: '7' }));
    expect(await state).toEqual({ id: 7 });
    expect(calls.map(({ url }) => url)).toEqual(['https://example.com/a']);
    const headers = { accept: 'application/json', 'user-agent': 'claimcheck' };
    expect(Object.fromEntries(calls[0]?.headers ?? [])).toEqual(headers);
    expect(calls[0]?.redirect).toBe('follow');
  });

  it('is asked for with the headers that are given, which no redirect carries to another host', async () => {
    const headers = { authorization: 'Bearer key', Accept: 'application/vnd.github+json' };
    const { state, calls } = ask(Response.json({ id: '7' }), { headers });
    expect(await state).toEqual({ id: 7 });
    expect(calls[0]?.headers.get('authorization')).toBe('Bearer key');
    expect(calls[0]?.headers.get('accept')).toBe('application/vnd.github+json');
    expect(calls[0]?.headers.get('user-agent')).toBe('claimcheck');
    expect(calls[0]?.redirect).toBe('manual');
    await expect(ask(status(302), { headers }).state).rejects.toThrow('answered 302');
  });

  it('is gone at the first 410, and at the second 404', async () => {
    const gone = ask(status(410));
    expect([await gone.state, gone.calls.length]).toEqual(['gone', 1]);
    const missing = ask([status(404), status(404)]);
    expect([await missing.state, missing.calls.length]).toEqual(['gone', 2]);
    expect(await ask([status(404), status(410)]).state).toBe('gone');
    expect(await ask([status(404), Response.json({ id: '7' })]).state).toEqual({ id: 7 });
    await expect(ask([status(404), status(500)]).state).rejects.toThrow('answered 500');
  });

  it('that does not match its schema is a permanent error without the paths, which are not those of the event', async () => {
    const thrown = await ask(Response.json({ id: 7 })).state.catch((error) => error);
    expect([seconds(thrown), thrown.message]).toEqual([
      'PermanentError',
      'the current state does not match its schema',
    ]);
    expect(failureOf(thrown)).toEqual({ failure: 'schema', failedPaths: null });
  });

  it.each([
    ['refused', '', 'the other side'],
    [null, 'https://me:pass@api.example.com:8443/hooks/T0KEN?key=T0KEN#T0KEN', 'api.example.com:8443'],
  ])(
    'that is refused is the error of the response, whose body is not left open, with no more of its URL than the host',
    async (body, url, host) => {
      const response = Object.defineProperty(new Response(body, { status: 400 }), 'url', { value: url });
      await expect(ask(response).state).rejects.toMatchObject({ message: `${host} answered 400` });
      expect(response.body?.locked ?? false).toBe(false);
      expect((await response.body?.getReader().read())?.done ?? true).toBe(true);
    },
  );
});

it('an effect has the name of its kind, unless one event asks for two of a kind', () => {
  const send = async () => new Response();
  const kind = defineEffect({ send });
  expect(kind).toEqual({ send });
  const { effects, effect } = defineEffects({ receipt: kind });
  expect(effects).toEqual({ receipt: kind });
  expect([
    effect('receipt', 1 as never),
    effect('receipt', 2 as never, 'copy'),
    effect('receipt', 3 as never, { name: 'later', after: 60, key: 'k' }),
  ]).toEqual([
    { kind: 'receipt', payload: 1, name: 'receipt', options: {} },
    { kind: 'receipt', payload: 2, name: 'copy', options: {} },
    { kind: 'receipt', payload: 3, name: 'later', options: { after: 60, key: 'k' } },
  ]);
});

it('what a user defines is what the engine gets', () => {
  const given = { handle: () => [] };
  const handler = defineHandler(given);
  expect(handler).toBe(given);
  const sources = defineSources({ stripe: { provider: stripe, types: ['paid'] } });
  expect(defineHandlers(sources, { stripe: { paid: handler } })).toEqual({ stripe: { paid: handler } });
  const body = () => ({});
  expect(defineSamples(sources, { stripe: { paid: body } })).toEqual({ stripe: { paid: body } });
  expect(sources.stripe).toEqual({ provider: stripe, types: ['paid'] });
});

it('a type of an SDK lets every payload through as it is', async () => {
  for (const payload of [undefined, null, 5, {}, { amount: 'five' }])
    expect(await typed<{ amount: number }>()['~standard'].validate(payload)).toEqual({ value: payload });
});

it('a condition fails with the error that it was given, or with one of its sentence', () => {
  const statement = {} as Statement;
  const error = new PermanentError('no');
  expect(must(statement, error)).toEqual({ statement, error });
  expect(must(statement, error).error).toBe(error);
  expect(must(statement, 'no').error).toEqual(new Error('no'));
});

it('the names of the errors are those that a user writes, also in a bundle that is minified', () => {
  expect([new PermanentError('x').name, new RetryLater(60).name]).toEqual(['PermanentError', 'RetryLater']);
  expect(new RetryLater(60).message).toBe('asked for a retry in 60 s');
});
