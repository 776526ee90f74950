import { env } from 'cloudflare:workers';
import { afterEach, beforeAll, expect, it, vi } from 'vitest';

const called = vi.fn(async () => new Response('{}'));

// As in a local run: it replaces `fetch` before anything else is loaded.
beforeAll(async () => {
  vi.stubGlobal('fetch', called);
  Object.assign(env, { API_URL: 'https://api.example.com/v1', PLAIN: 'word' });
  await import('../../../scripts/local/guard.ts');
});
afterEach(() => called.mockClear());

it.each([
  'https://mail.example.com/send',
  new URL('https://mail.example.com'),
  new Request('https://mail.example.com'),
])('in a local run, the global fetch refuses a host that no variable names (%s)', async (input) => {
  await expect(fetch(input)).rejects.toThrow(
    'no call to mail.example.com from a local run: put its URL into [vars] of wrangler.consumer.toml',
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
