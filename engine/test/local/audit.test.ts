import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { listen } from '../../cli/lib/port.ts';

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
});

afterAll(() => server.close());

async function audit(status: number, answer: object): Promise<{ code: unknown; text: string }> {
  Object.assign(registry, { status, answer, asked: [] });
  const env = { ...process.env, npm_config_registry: address, npm_config_fetch_retries: '0' };
  return new Promise((resolve) => {
    execFile(process.execPath, ['engine/workshop/run.mjs', 'audit'], { env }, (error, out, errors) =>
      resolve({ code: error?.code ?? 0, text: (out + errors).trim() }),
    );
  });
}

it('without an advisory the audit says so', async () => {
  expect(await audit(200, {})).toMatchObject({
    code: 0,
    text: 'audit: no package that is deployed has a known vulnerability',
  });
  expect(registry.asked).toContain('hono');
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
