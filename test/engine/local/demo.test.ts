import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterEach, expect, it } from 'vitest';

let checkout = '';
afterEach(() => rm(checkout, { recursive: true, force: true }));

/** A checkout with another app in src/app: what the demo says must not depend on the app that ships. */
async function makeCheckout(app: Record<string, string>): Promise<void> {
  checkout = await mkdtemp(join(tmpdir(), 'claimcheck-demo-'));
  const shared = ['src', 'scripts', 'drizzle', 'package.json', 'wrangler.toml', 'wrangler.consumer.toml'];
  for (const file of shared) await cp(file, join(checkout, file), { recursive: true });
  await symlink(resolve('node_modules'), join(checkout, 'node_modules'));
  await rm(join(checkout, 'src/app'), { recursive: true });
  for (const [file, text] of Object.entries({ ...EMPTY_APP, ...app })) {
    const path = join(checkout, 'src/app', file);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}

const EMPTY_APP = {
  'tables.ts': '',
  'handlers/index.ts': 'export const handlers = {};',
  'effects/index.ts': 'export const effects = {};',
  'samples.ts': 'export const samples = {}; export const answers = () => undefined;',
};

async function demo(): Promise<{ code: number | null; text: string }> {
  const child = spawn(process.execPath, ['scripts/run.mjs', 'demo'], { cwd: checkout });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
  const [code] = await once(child, 'exit');
  return { code: code as number | null, text };
}

const numberIn = (text: string, title: string) => Number(new RegExp(`^\\s*${title}\\s+(\\d+)`, 'm').exec(text)?.[1]);

it('the demo finds every event of every provider, batches and providers without ids included', async () => {
  await makeCheckout({
    'sources.ts': `
      import { providers } from '../providers/index.ts';
      const sign = { square: 1, twilio: 1, 'hubspot-v3': 1 };
      const byName = Object.entries(providers).map(([name, provider]) =>
        [name, { provider, types: [], ...(name in sign ? { url: 'https://hooks.example.com/' + name } : {}) }]);
      export const sources = {
        ...Object.fromEntries(byName),
        'by-content': { provider: providers.gethook, types: [], dedupe: 'content' },
      };`,
  });
  const { code, text } = await demo();
  expect(text).not.toContain('should be');
  expect(text).not.toContain('holds no event');
  expect(code).toBe(0);
  // 25 events from most providers. The samples of a few always have the same body, so they count once.
  expect(numberIn(text, 'events in the ledger')).toBeGreaterThan(1000);
  expect(numberIn(text, 'events lost')).toBe(0);
}, 120_000);

it('the demo names the handlers that fail, and still shows that nothing is lost', async () => {
  await makeCheckout({
    'sources.ts': `
      import { gethook } from '../providers/gethook.ts';
      export const sources = { orders: { provider: gethook, types: ['order.paid', 'order.sent'] } };`,
    'handlers/index.ts': `
      import { PermanentError } from '#kit';
      export const handlers = {
        orders: {
          'order.paid': { handle() { throw new PermanentError('no such order'); } },
          'order.sent': { handle() { throw new TypeError('not a function'); } },
        },
      };`,
  });
  const { code, text } = await demo();
  expect(text).toContain('orders order.paid, 13 times parked: PermanentError: no such order');
  expect(text).toContain('orders order.sent, 12 times pending: TypeError: not a function');
  expect([code, numberIn(text, 'events lost')]).toEqual([0, 0]);
}, 60_000);
