import { afterEach, describe, expect, it, vi } from 'vitest';
import { fetchFor } from '../../../src/consumer/outside.ts';

const LOCAL = 'postgres://claimcheck:x@127.0.0.1:5432/claimcheck';
const DEPLOYED = 'postgres://claimcheck:x@ep-1.eu-central-1.aws.neon.tech/claimcheck';

const called = vi.fn(async () => new Response('{}'));
vi.stubGlobal('fetch', called);
afterEach(() => called.mockClear());

describe('in a local run', () => {
  const fetchLocally = fetchFor({ DATABASE_URL: LOCAL, API_URL: 'https://api.example.com/v1', PLAIN: 'word' });

  it.each([
    'https://mail.example.com/send',
    new URL('https://mail.example.com'),
    new Request('https://mail.example.com'),
  ])('a host that no variable names is refused (%s)', async (input) => {
    await expect(fetchLocally(input)).rejects.toThrow(
      'no call to mail.example.com from a local run: put its URL into [vars] of wrangler.consumer.toml',
    );
    expect(called).not.toHaveBeenCalled();
  });

  it.each(['http://127.0.0.1:1234/x', 'http://localhost/x', 'http://[::1]:1/x', 'https://api.example.com/other'])(
    'a local host, and the host of a variable, is called (%s)',
    async (input) => {
      await fetchLocally(input, { method: 'POST' });
      expect(called).toHaveBeenCalledWith(input, { method: 'POST' });
    },
  );
});

it('a deployed Worker calls any host', async () => {
  await fetchFor({ DATABASE_URL: DEPLOYED })('https://mail.example.com/send');
  expect(called).toHaveBeenCalledOnce();
});
