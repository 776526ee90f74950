import { env } from 'cloudflare:workers';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { openReadOnlyDatabase } from '../../src/db/user-statement.ts';
import { defineHandler, Effect, type Event, must, type Tools } from '../../src/kit/index.ts';
import { balances } from '../fixture/tables.ts';

const called = vi.fn(async () => new Response('{}'));

// As in a local run: it replaces `fetch` before anything else is loaded.
beforeAll(async () => {
  vi.stubGlobal('fetch', called);
  Object.assign(env, { API_URL: 'https://api.example.com/v1', PLAIN: 'word' });
  await import('../../cli/local/guard.ts');
});
afterEach(() => called.mockClear());
// The files after this one share `fetch` and the variables.
afterAll(() => {
  vi.unstubAllGlobals();
  for (const name of ['API_URL', 'PLAIN']) Reflect.deleteProperty(env, name);
});

it.each([
  'https://mail.example.com/send',
  new URL('https://mail.example.com'),
  new Request('https://mail.example.com'),
])('in a local run, the global fetch refuses a host that no variable names (%s)', async (input) => {
  await expect(fetch(input)).rejects.toThrow(
    'a local run must not call mail.example.com: put its URL into [vars] of wrangler.consumer.toml',
  );
  expect(called).not.toHaveBeenCalled();
});

it.each(['http://127.0.0.1:1234/x', 'http://localhost/x', 'http://[::1]:1/x', 'https://api.example.com/other'])(
  'in a local run, the global fetch calls a local host, and the host of a variable (%s)',
  async (input) => {
    await fetch(input, { method: 'POST' });
    expect(called).toHaveBeenCalledWith(input, { method: 'POST' });
  },
);

it.each([
  [
    'one of two statements',
    1,
    'not returned   test/test built 2 statements and returned 1. Only returned statements are committed',
  ],
  ['all of its statements', 2, undefined],
])('in a local run, a handler that returns %s has that pointed out if it is not right', async (_what, count, line) => {
  const { printUnreturned } = await import('../../cli/local/guard.ts');
  const handler = defineHandler({
    handle: async (_event, { db }) => {
      const changes = [db.delete(balances), must(db.update(balances).set({ balance: 1n }), 'no')];
      return [...changes.slice(0, count), new Effect('answers', {}, 'one')];
    },
  });
  const original = handler.handle;
  printUnreturned({ test: { test: handler, 'the same again': handler } });
  expect(handler.handle).not.toBe(original);
  const printed = vi.spyOn(console, 'log').mockImplementation(() => {});
  const tools = { db: openReadOnlyDatabase('postgres://role:x@localhost/db') } as Tools;
  const changes = await handler.handle({ source: 'test', type: 'test' } as Event<never>, tools);
  expect(changes).toHaveLength(count + 1);
  expect(printed.mock.calls).toEqual(line ? [[line]] : []);
  printed.mockRestore();
});
