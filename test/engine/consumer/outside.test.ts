import { afterEach, describe, expect, it, vi } from 'vitest';
import { guardFetch } from '../../../src/consumer/outside.ts';

const called = vi.fn(async () => new Response('{}'));
vi.stubGlobal('fetch', called);
afterEach(() => called.mockClear());

// First, because a guard stays for as long as its Worker runs.
it('a deployed Worker keeps its own fetch', () => {
  guardFetch({ DATABASE_URL: 'postgres://claimcheck:x@ep-1.eu-central-1.aws.neon.tech/claimcheck' });
  expect(globalThis.fetch).toBe(called);
});

describe('in a local run, the global fetch', () => {
  const guard = () =>
    guardFetch({
      DATABASE_URL: 'postgres://claimcheck:x@127.0.0.1:5432/claimcheck',
      API_URL: 'https://api.example.com/v1',
      PLAIN: 'word',
    });

  it.each([
    'https://mail.example.com/send',
    new URL('https://mail.example.com'),
    new Request('https://mail.example.com'),
  ])('refuses a host that no variable names (%s)', async (input) => {
    guard();
    await expect(fetch(input)).rejects.toThrow(
      'no call to mail.example.com from a local run: put its URL into [vars] of wrangler.consumer.toml',
    );
    expect(called).not.toHaveBeenCalled();
  });

  it.each(['http://127.0.0.1:1234/x', 'http://localhost/x', 'http://[::1]:1/x', 'https://api.example.com/other'])(
    'calls a local host, and the host of a variable (%s)',
    async (input) => {
      guard();
      await fetch(input, { method: 'POST' });
      expect(called).toHaveBeenCalledWith(input, { method: 'POST' });
    },
  );
});
