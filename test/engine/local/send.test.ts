import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { madeUpKeys } from '../../../scripts/local/keys.ts';
import { listen } from '../../../scripts/local/port.ts';
import { type Provider, providers } from '../../../src/providers/index.ts';
import { verify } from '../../../src/verify/index.ts';

interface Came {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

let server: Server;
let port = 0;
const came: Came[] = [];

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const headers = new Headers(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const { method = '', url = '' } = request;
    came.push({ method, url: `http://127.0.0.1:${port}${url}`, headers, body: Uint8Array.from(Buffer.concat(parts)) });
    response.end('{}');
  });
  port = await listen(server, 0);
});
afterAll(() => server.close());

/** As `npm run send` runs it. */
function send(args: string[], env: Record<string, string> = {}): Promise<{ code: number; out: string; error: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      'node_modules/.bin/node',
      ['scripts/run.mjs', 'send', ...args],
      { env: { ...process.env, ...env } },
      (_error, out, error) => resolve({ code: child.exitCode ?? -1, out, error }),
    );
  });
}

describe('npm run send', () => {
  it('lists every provider with the types of its sample', async () => {
    const { code, out } = await send(['--list']);
    expect(code).toBe(0);
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(Object.keys(providers));
    expect(out).toMatch(/^stripe +invoice\.paid$/m);
  });

  it.each([
    ['discord', 'DISCORD_WEBHOOK_SIGNING_KEY'],
    ['mailgun', 'MAILGUN_WEBHOOK_SECRET'],
    ['mollie-classic', 'MOLLIE_CLASSIC_WEBHOOK_SECRET'],
    ['hubspot-v3', 'HUBSPOT_V3_WEBHOOK_SECRET'],
  ])('sends for %s, which no source names yet, what the receiver would accept', async (name, variable) => {
    const provider = providers[name] as Provider;
    const keys = madeUpKeys(provider);
    const { code, error } = await send([name, '--url', `http://127.0.0.1:${port}`], { [variable]: keys.signingKey });
    expect([code, error]).toEqual([0, '']);
    const sent = came.at(-1);
    expect(sent && (await verify(provider, sent, [keys.secret], new Date()))).toMatchObject({ outcome: 'verified' });
  });

  it('signs for a source of any name with --provider, and with a made-up key where none is set', async () => {
    const { code, out } = await send(['shop', '--provider', 'shopify', '--url', `http://127.0.0.1:${port}`]);
    expect(code).toBe(0);
    expect(out).toContain('SHOP_WEBHOOK_SECRET is not set');
    expect(came.at(-1)?.url).toBe(`http://127.0.0.1:${port}/webhooks/shop`);
    expect(came.at(-1)?.headers.get('x-shopify-topic')).toBe('orders/create');
  });

  it.each([
    [['nobody'], /^send: there is no source nobody; there are .*--list\)\n$/],
    [['shop', '--provider', 'nobody'], /^send: there is no provider nobody: npm run send -- --list shows them\n$/],
    [['discord', '--url', 'nowhere'], /^send: --url takes an address such as .*\n$/],
    [['discord', '--times', 'x'], /^send: --times takes a whole number from 1\n$/],
    [['mailgun', '--body', '{'], /^send: --body must be JSON, because .*\n$/],
    [
      ['standardwebhooks', '--url', 'http://127.0.0.1:1'],
      /^send: the key of standardwebhooks is not in the form .*\n$/,
    ],
  ])('%j is one line that says what to do', async (args, line) => {
    const { code, error } = await send(args, { STANDARDWEBHOOKS_WEBHOOK_SECRET: 'not base64!' });
    expect(code).toBe(1);
    expect(error).toMatch(line);
  });
});
