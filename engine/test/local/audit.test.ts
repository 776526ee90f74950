import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listen } from '../../cli/lib/port.ts';
import { type Checkout, makeCheckout } from '../checkout.ts';

const ADVISORY = {
  id: 1,
  url: 'https://advisories.example.com/1',
  title: 'a hole',
  severity: 'high',
  vulnerable_versions: '>=0.0.0',
};

/** A registry: what it answers when it is asked for advisories, and the packages that it was asked about. */
const registry = { status: 200, answer: {} as object, asked: [] as string[] };
let server: Server;
let checkout: Checkout;
let address: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const isAudit = request.url?.endsWith('/advisories/bulk');
      if (isAudit) registry.asked = Object.keys(JSON.parse(gunzipSync(Buffer.concat(chunks)).toString('utf8')));
      response.writeHead(isAudit ? registry.status : 404, { 'content-type': 'application/json' });
      response.end(JSON.stringify(isAudit ? registry.answer : {}));
    });
  });
  address = `http://127.0.0.1:${await listen(server, 0)}`;
  checkout = await makeCheckout();
  await checkout.write('package-lock.json', readFileSync('package-lock.json', 'utf8'));
});

afterAll(async () => {
  await checkout.remove();
  server.close();
});

async function audit(status: number, answer: object) {
  Object.assign(registry, { status, answer, asked: [] });
  return checkout.run(['engine/workshop/audit'], { npm_config_registry: address, npm_config_fetch_retries: '0' })
    .result;
}

it('without an advisory the audit says so, and only packages that are deployed are asked about', async () => {
  expect(await audit(200, {})).toMatchObject({
    code: 0,
    text: 'audit: no package that is deployed has a known vulnerability',
  });
  expect(registry.asked).toContain('hono');
  expect(registry.asked).not.toContain('wrangler');
});

it('an advisory for a package that is deployed fails the audit with its address', async () => {
  const { code, text } = await audit(200, { hono: [ADVISORY] });
  expect([code, text]).toEqual([1, `audit: hono: high (${ADVISORY.url})`]);
});

it('a registry without audits fails nothing, and the audit says that nothing was checked', async () => {
  const { code, text } = await audit(405, {});
  expect(code).toBe(0);
  expect(text).toMatch(/^audit: NOT CHECKED, because the registry gave no answer \(405 /);
});
